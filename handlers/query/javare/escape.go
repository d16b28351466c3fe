package javare

import (
	"fmt"
	"unicode/utf16"
)

// escape reads what stands behind a backslash outside of a class.
func (p *parser) escape() node {
	at := p.pos - 1
	switch c := p.look(0); c {
	case 'A', 'G': // \G is where the last match ended, and there was none yet
		p.pos++
		return assertion{kind: begin}
	case 'Z':
		p.pos++
		return assertion{finalEnd, p.flags.unix}
	case 'z':
		p.pos++
		return assertion{kind: end}
	case 'b', 'B':
		return p.boundary(at)
	case 'R':
		p.pos++
		return either(join(class{runesOf('\r')}, class{runesOf('\n')}), class{verticalSpace})
	case 'X':
		p.refuse(at, `\X (a grapheme cluster)`)
	case 'k', '1', '2', '3', '4', '5', '6', '7', '8', '9':
		p.refuse(at, fmt.Sprintf(`the back reference "\%c"`, c))
	}
	s, single := p.classEscape(at)
	if single {
		s = p.foldRune(s[0].lo)
	}
	return class{s}
}

func (p *parser) boundary(at int) node {
	c := p.look(0)
	p.pos++
	if c == 'b' && p.look(0) == '{' && p.look(1) == 'g' {
		p.refuse(at, `\b{g} (the border of a grapheme cluster)`)
	}
	if p.flags.unicodeClass {
		p.refuse(at, fmt.Sprintf(`\%c under (?U)`, c))
	}
	if c == 'B' {
		return assertion{kind: notWord}
	}
	return assertion{kind: word}
}

// classEscape reads what may stand behind a backslash in a class as well: a
// single rune, or a set.
func (p *parser) classEscape(at int) (s set, single bool) {
	c := p.look(0)
	p.pos++
	if s, ok := p.escapedSet(at, c); ok {
		return s, false
	}
	r := p.escapedRune(at, c)
	return set{{r, r}}, true
}

func (p *parser) escapedSet(at int, c rune) (set, bool) {
	switch c {
	case 'd', 's', 'w':
		return p.shorthand(c), true
	case 'D', 'S', 'W':
		return p.shorthand(c + 'a' - 'A').not(), true
	case 'h':
		return horizontalSpace, true
	case 'H':
		return horizontalSpace.not(), true
	case 'v':
		return verticalSpace, true
	case 'V':
		return verticalSpace.not(), true
	case 'p':
		return p.property(at), true
	case 'P':
		return p.property(at).not(), true
	}
	return nil, false
}

func (p *parser) shorthand(c rune) set {
	var name string
	switch c {
	case 'd':
		name = "Digit"
	case 's':
		name = "Space"
	case 'w':
		name = "Word"
	}
	if p.flags.unicodeClass {
		return unicodePOSIX(name)
	}
	return posix[name]
}

func (p *parser) escapedRune(at int, c rune) rune {
	switch c {
	case 'a':
		return 7
	case 'e':
		return 0x1B
	case 'f':
		return '\f'
	case 'n':
		return '\n'
	case 'r':
		return '\r'
	case 't':
		return '\t'
	case '0':
		return p.octal(at)
	case 'x':
		return p.hex(at)
	case 'u':
		return p.utf16(at)
	case 'c':
		c = p.look(0)
		p.pos++
		if c == eof {
			p.fail(at, `"\c" without its letter`)
		}
		return c ^ 64
	case 'N':
		p.refuse(at, `\N (a rune by its name)`)
	case eof:
		p.fail(at, "a backslash with nothing behind it")
	}
	if isASCIILetter(c) || isDigit(c) {
		p.fail(at, fmt.Sprintf(`the unknown escape "\%c"`, c))
	}
	return c
}

// octal reads the digits of \0n, \0nn or \0mnn, m at most 3.
func (p *parser) octal(at int) rune {
	digits, n := 1, rune(0)
	if p.look(0) >= '0' && p.look(0) <= '3' {
		digits = 3
	} else {
		digits = 2
	}
	start := p.pos
	for ; digits > 0 && p.look(0) >= '0' && p.look(0) <= '7'; digits-- {
		n = 8*n + p.look(0) - '0'
		p.pos++
	}
	if p.pos == start {
		p.fail(at, `"\0" without octal digits`)
	}
	return n
}

// hex reads the digits of \xhh or \x{h...}.
func (p *parser) hex(at int) rune {
	if p.look(0) != '{' {
		return p.hexDigits(at, 2)
	}
	n := rune(0)
	for p.pos++; p.look(0) != '}'; p.pos++ {
		d := hexDigit(p.look(0))
		if n = 16*n + d; d < 0 || n > maxRune {
			p.fail(at, `"\x{" without a hexadecimal number up to 10FFFF and "}"`)
		}
	}
	p.pos++
	if p.look(-2) == '{' {
		p.fail(at, `"\x{}" without digits`)
	}
	return n
}

func (p *parser) hexDigits(at, digits int) rune {
	n := rune(0)
	for range digits {
		d := hexDigit(p.look(0))
		if d < 0 {
			p.fail(at, fmt.Sprintf("an escape without its %d hexadecimal digits", digits))
		}
		n = 16*n + d
		p.pos++
	}
	return n
}

// utf16 reads the digits of \uhhhh, or of two that are a surrogate pair.
func (p *parser) utf16(at int) rune {
	r := p.hexDigits(at, 4)
	if utf16.IsSurrogate(r) && p.look(0) == '\\' && p.look(1) == 'u' {
		back := p.pos
		p.pos += 2
		if pair := utf16.DecodeRune(r, p.hexDigits(at, 4)); pair != '\uFFFD' {
			return pair
		}
		p.pos = back
	}
	return r
}

func hexDigit(c rune) rune {
	switch {
	case isDigit(c):
		return c - '0'
	case c >= 'a' && c <= 'f':
		return c - 'a' + 10
	case c >= 'A' && c <= 'F':
		return c - 'A' + 10
	}
	return -1
}
