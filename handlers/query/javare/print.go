package javare

import (
	"fmt"
	"regexp"
	"strings"
)

// printer writes a tree in RE2's syntax.
type printer struct {
	strings.Builder
	cut bool // for texts without their last line end
}

func printWhole(tree node) string { return (&printer{}).all(tree) }

func printCut(tree node) string { return (&printer{cut: true}).all(tree) }

func (p *printer) all(tree node) string {
	p.node(tree)
	return p.String()
}

func (p *printer) node(n node) {
	switch n := n.(type) {
	case class:
		p.set(n.set)
	case assertion:
		p.assertion(n)
	case concat:
		for _, part := range n {
			p.part(part)
		}
	case alternate:
		for i, branch := range n {
			if i > 0 {
				p.WriteByte('|')
			}
			p.node(branch)
		}
	case repeat:
		p.repeat(n)
	default:
		panic("BUG: a node of no known kind")
	}
}

// part writes a part of a concat.
func (p *printer) part(n node) {
	if _, ok := n.(alternate); ok {
		p.group(n)
		return
	}
	p.node(n)
}

func (p *printer) group(n node) {
	p.WriteString("(?:")
	p.node(n)
	p.WriteByte(')')
}

func (p *printer) repeat(r repeat) {
	if c, ok := r.body.(class); ok {
		p.set(c.set)
	} else {
		p.group(r.body)
	}
	switch {
	case r.min == 0 && r.max < 0:
		p.WriteByte('*')
	case r.min == 1 && r.max < 0:
		p.WriteByte('+')
	case r.min == 0 && r.max == 1:
		p.WriteByte('?')
	case r.max < 0:
		fmt.Fprintf(p, "{%d,}", r.min)
	default:
		fmt.Fprintf(p, "{%d,%d}", r.min, r.max)
	}
}

func (p *printer) assertion(a assertion) {
	switch a.kind {
	case begin:
		p.WriteString(`\A`)
	case finalEnd, lastEnd:
		p.WriteString(`\z`)
	case end:
		if p.cut {
			p.set(nil)
		} else {
			p.WriteString(`\z`)
		}
	case word:
		p.WriteString(`\b`)
	case notWord:
		p.WriteString(`\B`)
	default:
		panic("BUG: a line's start or end that was not resolved")
	}
}

func (p *printer) set(s set) {
	switch {
	case len(s) == 0:
		p.WriteString(`[^\x00-\x{10FFFF}]`)
	case len(s) == 1 && s[0] == everything[0]:
		p.WriteString(`(?s:.)`)
	case len(s) == 1 && s[0].lo == s[0].hi && !isSurrogate(s[0].lo):
		p.WriteString(regexp.QuoteMeta(string(s[0].lo)))
	default:
		if outside := s.not(); len(outside) < len(s) {
			p.ranges("[^", outside)
		} else {
			p.ranges("[", s)
		}
	}
}

// isSurrogate reports whether no UTF-8 stands for r.
func isSurrogate(r rune) bool { return r >= 0xD800 && r <= 0xDFFF }

func (p *printer) ranges(open string, s set) {
	p.WriteString(open)
	for _, r := range s {
		fmt.Fprintf(p, `\x{%X}`, r.lo)
		if r.hi > r.lo {
			fmt.Fprintf(p, `-\x{%X}`, r.hi)
		}
	}
	p.WriteByte(']')
}

// countSteps is the number of steps of a tree's program; beyond MaxSteps it
// stops to count.
func countSteps(n node) int {
	c := counter{}
	c.node(n, 1)
	return c.steps
}

type counter struct{ steps int }

func (c *counter) node(n node, times int) {
	if c.steps > MaxSteps {
		return
	}
	switch n := n.(type) {
	case concat:
		for _, part := range n {
			c.node(part, times)
		}
	case alternate:
		c.steps += times * len(n)
		for _, branch := range n {
			c.node(branch, times)
		}
	case repeat:
		c.steps += times * max(n.max-n.min, 1) // each optional copy has a branch
		c.node(n.body, times*max(n.min, n.max, 1))
	default:
		c.steps += times
	}
}
