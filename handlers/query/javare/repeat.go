package javare

import "fmt"

// repeats reads a repeat behind an atom, if there is one.
func (p *parser) repeats(body node) node {
	p.quotes()
	if p.quoted {
		return body
	}
	at := p.pos
	r := repeat{body: body}
	switch p.peek() {
	case '*':
		r.max = -1
	case '+':
		r.min, r.max = 1, -1
	case '?':
		r.max = 1
	case '{':
		r.min, r.max = p.counts()
	default:
		return body
	}
	p.pos++
	if !p.accept('?') && p.peek() == '+' {
		p.refuse(at, fmt.Sprintf("the possessive quantifier %q", short(string(p.pattern[at:p.pos+1]))))
	}
	return r.simplify()
}

// simplify does without a repeat where it says nothing.
func (r repeat) simplify() node {
	_, isAssertion := r.body.(assertion)
	c, isConcat := r.body.(concat)
	switch {
	case r.max == 0, isAssertion && r.min == 0, isConcat && len(c) == 0:
		return empty
	case isAssertion, r.min == 1 && r.max == 1:
		return r.body
	}
	return r
}

// counts reads {n}, {n,} or {n,m} up to its last brace.
func (p *parser) counts() (least, most int) {
	at := p.pos
	p.pos++
	least = p.count(at)
	most = least
	if p.accept(',') {
		most = -1
		if p.peek() != '}' {
			most = p.count(at)
		}
	}
	if p.peek() != '}' {
		p.fail(at, "a repeat that is not {n}, {n,} or {n,m}")
	}
	if most >= 0 && most < least {
		p.fail(at, fmt.Sprintf("a repeat of at least %d and at most %d", least, most))
	}
	return least, most
}

func (p *parser) count(at int) int {
	n, digits := 0, 0
	for ; p.peek() >= '0' && p.peek() <= '9'; digits++ {
		n = min(10*n+int(p.peek()-'0'), MaxRepeat+1)
		p.pos++
	}
	switch {
	case digits == 0:
		p.fail(at, "a repeat that is not {n}, {n,} or {n,m}")
	case n > MaxRepeat:
		p.refuse(at, fmt.Sprintf("a repeat of over %d", MaxRepeat))
	}
	return n
}

// repeated is the largest product of the counts of nested repeats.
func repeated(n node) int {
	switch n := n.(type) {
	case concat:
		return mostRepeated(n)
	case alternate:
		return mostRepeated(n)
	case repeat:
		times := 1
		if n.min > 1 || n.max > 1 {
			times = max(n.min, n.max)
		}
		return times * repeated(n.body)
	}
	return 1
}

func mostRepeated(nodes []node) int {
	most := 1
	for _, n := range nodes {
		most = max(most, repeated(n))
	}
	return most
}
