package javare

import "fmt"

// class reads what stands behind "[": a union of runes, ranges, escapes and
// classes.
func (p *parser) class() set {
	at := p.pos - 1
	p.enter()
	negated := p.accept('^')
	var s set
	for empty := true; ; empty = false {
		p.quotes()
		c := p.peek()
		if c == eof {
			p.fail(at, `"[" without its "]"`)
		}
		if c == ']' && !empty && !p.quoted {
			break
		}
		s = append(s, p.member(at)...)
	}
	p.pos++
	p.nesting--
	s = s.tidy()
	if negated {
		s = s.not()
	}
	p.countRanges(at, s)
	return s
}

func (p *parser) countRanges(at int, s set) {
	if p.ranges += len(s); p.ranges > MaxRanges {
		p.fail(at, fmt.Sprintf("classes of together over %d ranges", MaxRanges))
	}
}

// member reads one part of a class.
func (p *parser) member(at int) set {
	c := p.look(0)
	switch {
	case p.quoted:
	case c == '[':
		p.pos++
		return p.class()
	case c == '&' && p.look(1) == '&':
		p.refuse(p.pos, `the class intersection "&&"`)
	}
	low, single := p.bound()
	if !single {
		return low
	}
	p.quotes()
	if p.quoted || p.peek() != '-' || p.look(1) == ']' || p.look(1) == '[' || p.look(1) == eof {
		return p.foldRune(low[0].lo)
	}
	from := p.pos
	p.pos++
	p.quotes()
	p.peek()
	high, single := p.bound()
	if !single || high[0].lo < low[0].lo {
		p.fail(from, "a range whose end comes before its start, or is no character,")
	}
	return p.foldRange(at, interval{low[0].lo, high[0].lo})
}

// bound reads a rune, which may be the end of a range, or an escaped set.
func (p *parser) bound() (s set, single bool) {
	at := p.pos
	c := p.look(0)
	p.pos++
	if c == '\\' && !p.quoted {
		return p.classEscape(at)
	}
	return set{{c, c}}, true
}
