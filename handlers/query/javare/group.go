package javare

import "fmt"

// group reads what stands behind "(". It is nil for flags alone, as in (?i).
func (p *parser) group() node {
	at := p.pos - 1
	before := p.flags
	if p.accept('?') {
		if alone := p.groupHead(at); alone {
			return nil
		}
	}
	p.enter()
	body := p.alternation()
	p.nesting--
	if !p.accept(')') {
		p.fail(at, `"(" without its ")"`)
	}
	p.flags = before
	return body
}

// groupHead reads what stands between "(?" and a group's body. It reports
// whether there is none: flags alone.
func (p *parser) groupHead(at int) (alone bool) {
	c := p.look(0)
	p.pos++
	switch c {
	case ':':
	case '=', '!':
		p.refuse(at, fmt.Sprintf(`the look-ahead "(?%c"`, c))
	case '>':
		p.refuse(at, `the atomic (possessive) group "(?>"`)
	case '<':
		if c = p.look(0); c == '=' || c == '!' {
			p.refuse(at, fmt.Sprintf(`the look-behind "(?<%c"`, c))
		}
		p.name(at)
	default:
		p.pos--
		return p.readFlags(at)
	}
	return false
}

// name reads the rest of (?<name>.
func (p *parser) name(at int) {
	start := p.pos
	for isASCIILetter(p.look(0)) || p.pos > start && isDigit(p.look(0)) {
		p.pos++
	}
	name := string(p.pattern[start:p.pos])
	if name == "" || p.look(0) != '>' {
		p.fail(at, "a group's name that is not letters and digits")
	}
	p.pos++
	if p.groups[name] {
		p.fail(at, fmt.Sprintf("a second group named %q", short(name)))
	}
	if p.groups == nil {
		p.groups = map[string]bool{}
	}
	p.groups[name] = true
}

// readFlags reads the rest of (?flags-flags) or (?flags-flags:.
func (p *parser) readFlags(at int) (alone bool) {
	on := true
	for {
		c := p.look(0)
		p.pos++
		switch c {
		case ')', ':':
			return c == ')'
		case '-':
			if !on {
				p.fail(at, `a second "-" among flags`)
			}
			on = false
		default:
			p.setFlag(at, c, on)
		}
	}
}

func (p *parser) setFlag(at int, c rune, on bool) {
	switch c {
	case 'i':
		p.flags.fold = on
	case 'd':
		p.flags.unix = on
	case 'm':
		p.flags.lines = on
	case 's':
		p.flags.dotAll = on
	case 'u':
		p.flags.unicodeFold = on
	case 'x':
		p.flags.comments = on
	case 'U':
		p.flags.unicodeClass, p.flags.unicodeFold = on, on
	case eof:
		p.fail(at, `"(?" without its ")"`)
	default:
		p.fail(at, fmt.Sprintf("the unknown flag %q", c))
	}
}

func isASCIILetter(c rune) bool { return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' }

func isDigit(c rune) bool { return c >= '0' && c <= '9' }
