package javare

import (
	"fmt"
	"unicode/utf8"
)

// parser reads a pattern. Problems are thrown with fail and caught in parse.
type parser struct {
	pattern []rune
	pos     int
	flags   flags
	quoted  bool // within \Q and \E
	nesting int
	ranges  int
	groups  map[string]bool // the names of groups
}

// flags are those of (?idmsuxU).
type flags struct{ fold, unix, lines, dotAll, unicodeFold, comments, unicodeClass bool }

func parse(pattern string) (tree node, err error) {
	defer catch(&err)
	p := &parser{pattern: decode(pattern)}
	tree = p.alternation()
	if !p.ended() {
		p.fail(p.pos, `an unmatched ")"`)
	}
	if repeated(tree) > MaxRepeat {
		p.fail(0, fmt.Sprintf("nested repeats of together over %d, which RE2 can't run,", MaxRepeat))
	}
	if n := countSteps(tree); n > MaxSteps {
		p.fail(0, fmt.Sprintf("a pattern of over %d steps", MaxSteps))
	}
	return tree, nil
}

// fail throws an error about the rune at pos.
func (p *parser) fail(pos int, what string) { panic(&Error{pos + 1, what}) }

// short is a piece of a pattern as an error shows it.
func short(piece string) string {
	const most = 40
	if runes := []rune(piece); len(runes) > most {
		return string(runes[:most]) + "..."
	}
	return piece
}

func (p *parser) refuse(pos int, construct string) {
	p.fail(pos, construct+", which RE2 can't run,")
}

// catch turns a thrown *Error into a returned one.
func catch(err *error) {
	switch thrown := recover().(type) {
	case nil:
	case *Error:
		*err = thrown
	default:
		panic(thrown)
	}
}

// decode reads UTF-8 and, as Java's strings have them, lone surrogates in its
// manner; other bytes become U+FFFD each.
func decode(s string) []rune {
	runes := make([]rune, 0, len(s))
	for i := 0; i < len(s); {
		if i+2 < len(s) && s[i] == 0xED && s[i+1]&0xE0 == 0xA0 && s[i+2]&0xC0 == 0x80 {
			runes = append(runes, 0xD000|rune(s[i+1]&0x3F)<<6|rune(s[i+2]&0x3F))
			i += 3
			continue
		}
		r, n := utf8.DecodeRuneInString(s[i:])
		runes = append(runes, r)
		i += n
	}
	return runes
}

const eof = -1

// peek is the rune at hand, behind what (?x) has no eye for.
func (p *parser) peek() rune {
	if p.flags.comments && !p.quoted {
		p.skipComments()
	}
	return p.look(0)
}

// look is the rune n behind the one at hand, eof behind the last.
func (p *parser) look(n int) rune {
	if p.pos+n >= len(p.pattern) {
		return eof
	}
	return p.pattern[p.pos+n]
}

func (p *parser) skipComments() {
	for {
		switch c := p.look(0); {
		case c == '#':
			for c != eof && !p.endsComment(c) {
				p.pos++
				c = p.look(0)
			}
		case c == ' ' || c >= '\t' && c <= '\r':
			p.pos++
		default:
			return
		}
	}
}

func (p *parser) endsComment(c rune) bool {
	return c == '\n' || !p.flags.unix && lineEnds.has(c)
}

func (p *parser) ended() bool { return p.peek() == eof }

// accept goes behind c if that is the rune at hand.
func (p *parser) accept(c rune) bool {
	if p.peek() == c {
		p.pos++
		return true
	}
	return false
}

func (p *parser) enter() {
	if p.nesting++; p.nesting > MaxNesting {
		p.fail(p.pos, fmt.Sprintf("over %d levels of groups and classes", MaxNesting))
	}
}

func (p *parser) alternation() node {
	var branches alternate
	for {
		branches = append(branches, p.sequence())
		if !p.accept('|') {
			break
		}
	}
	if len(branches) == 1 {
		return branches[0]
	}
	return branches
}

func (p *parser) sequence() node {
	parts := concat{}
	for {
		p.quotes()
		if c := p.peek(); c == eof || !p.quoted && (c == '|' || c == ')') {
			break
		}
		if atom := p.atom(); atom != nil {
			parts = append(parts, p.repeats(atom))
		}
	}
	if len(parts) == 1 {
		return parts[0]
	}
	return parts
}

// quotes goes behind \Q and \E.
func (p *parser) quotes() {
	for p.peek() == '\\' {
		switch c := p.look(1); {
		case p.quoted && c == 'E':
			p.quoted = false
		case !p.quoted && c == 'Q':
			p.quoted = true
		default:
			return
		}
		p.pos += 2
	}
}

// atom reads what a repeat may stand behind; nil if it was flags alone.
func (p *parser) atom() node {
	at := p.pos
	c := p.look(0)
	p.pos++
	if p.quoted {
		return p.literal(c)
	}
	switch c {
	case '.':
		return class{p.dot()}
	case '^':
		return assertion{p.multi(begin, lineStart), p.flags.unix}
	case '$':
		return assertion{p.multi(finalEnd, lineEnd), p.flags.unix}
	case '[':
		return class{p.class()}
	case '(':
		return p.group()
	case '\\':
		return p.escape()
	case '{':
		if isDigit(p.look(0)) { // a repeat of nothing, as Java has it
			p.pos = at
			return empty
		}
		p.fail(at, "a repeat that is not {n}, {n,} or {n,m}")
	case '*', '+', '?':
		p.fail(at, fmt.Sprintf("%q with nothing before it to repeat", c))
	}
	return p.literal(c)
}

func (p *parser) multi(single, multi kind) kind {
	if p.flags.lines {
		return multi
	}
	return single
}

func (p *parser) dot() set {
	switch {
	case p.flags.dotAll:
		return everything
	case p.flags.unix:
		return runesOf('\n').not()
	}
	return lineEnds.not()
}

func (p *parser) literal(c rune) node { return class{p.foldRune(c)} }

// foldRune is c with its other cases if the flags say so.
func (p *parser) foldRune(c rune) set {
	switch {
	case p.flags.fold && p.flags.unicodeFold:
		return sameAs(c)
	case p.flags.fold:
		return set{{c, c}}.foldASCII()
	}
	return set{{c, c}}
}

func (p *parser) foldRange(at int, r interval) set {
	s := set{r}
	switch {
	case p.flags.fold && p.flags.unicodeFold:
		s = r.foldUnicode()
	case p.flags.fold:
		s = s.foldASCII()
	}
	p.countRanges(at, s) // untidy: a cheap measure of the work
	return s.tidy()
}
