package query

import (
	"darboux/handlers/riemann"
)

// compiler makes closures of predicates.
type compiler struct {
	steps int // of all regular expressions together
}

// compile makes a closure of a simplified predicate. What it takes depends on
// the kinds of fields and constants is decided here, so that a closure only
// reads and compares.
func (c compiler) compile(p predicate) matcher {
	switch p := p.(type) {
	case and:
		return c.compileAnd(p.terms)
	case or:
		return c.compileOr(p.terms)
	case not:
		return c.compileNot(p.term)
	case compare:
		return compileCompare(p)
	case like:
		return compileLike(fieldOf(p.left.text), newLikeMatcher(p.pattern))
	case match:
		return c.compileRegexp(fieldOf(p.left.text), p.regexp)
	case tagged:
		tag := p.tag
		return func(e *riemann.Event) bool { return e.Tagged(tag) }
	case present:
		return compilePresent(p.of)
	}
	panic("BUG: a predicate of no known kind")
}

func (c compiler) compileAll(terms []predicate) []matcher {
	all := make([]matcher, len(terms))
	for i, t := range terms {
		all[i] = c.compile(t)
	}
	return all
}

func (c compiler) compileAnd(terms []predicate) matcher {
	all := c.compileAll(terms)
	if len(all) == 2 {
		a, b := all[0], all[1]
		return func(e *riemann.Event) bool { return a(e) && b(e) }
	}
	return func(e *riemann.Event) bool {
		for _, m := range all {
			if !m(e) {
				return false
			}
		}
		return true
	}
}

func (c compiler) compileOr(terms []predicate) matcher {
	all := c.compileAll(terms)
	if len(all) == 2 {
		a, b := all[0], all[1]
		return func(e *riemann.Event) bool { return a(e) || b(e) }
	}
	return func(e *riemann.Event) bool {
		for _, m := range all {
			if m(e) {
				return true
			}
		}
		return false
	}
}

func (c compiler) compileNot(term predicate) matcher {
	m := c.compile(term)
	return func(e *riemann.Event) bool { return !m(e) }
}

func compilePresent(v value) matcher {
	if v.constant() {
		holds := v.truthy()
		return func(*riemann.Event) bool { return holds }
	}
	return fieldOf(v.text).present
}

func compileCompare(p compare) matcher {
	f := fieldOf(p.left.text)
	switch {
	case p.right.kind == isField:
		return sameFields(f, fieldOf(p.right.text))
	case p.op != equal:
		return compileOrder(f, p.op, p.right)
	case p.right.kind == isText:
		return compileText(f, p.right.text)
	case p.right.kind == isInteger:
		want := p.right.integer
		return func(e *riemann.Event) bool {
			n := f.number(e)
			return n.Kind == riemann.Integer && n.Int == want
		}
	}
	want := p.right.float
	return func(e *riemann.Event) bool {
		n := f.number(e)
		return n.Kind == riemann.Float && n.Float == want
	}
}

// compileText is f = want; the fields that are asked for most have their own
// closures.
func compileText(f field, want string) matcher {
	switch f.kind {
	case host:
		return func(e *riemann.Event) bool {
			return e.Set&riemann.HasHost != 0 && string(bytesOf(e, e.Host)) == want
		}
	case service:
		return func(e *riemann.Event) bool {
			return e.Set&riemann.HasService != 0 && string(bytesOf(e, e.Service)) == want
		}
	case state:
		return func(e *riemann.Event) bool {
			return e.Set&riemann.HasState != 0 && string(bytesOf(e, e.State)) == want
		}
	}
	return func(e *riemann.Event) bool {
		text := f.text(e)
		return text != nil && string(text) == want
	}
}

// compileOrder is f op want. Numbers of two kinds are compared as doubles; what
// is beyond int64 lies beyond every integer.
func compileOrder(f field, op operator, want value) matcher {
	asFloat := want.asFloat()
	var ofInteger func(n int64) bool
	switch want.kind {
	case isInteger:
		ofInteger = func(n int64) bool { return holds(op, n, want.integer) }
	case isBig:
		holdsAlways := op.of(-want.big.Sign())
		ofInteger = func(int64) bool { return holdsAlways }
	default:
		ofInteger = func(n int64) bool { return holds(op, float64(n), asFloat) }
	}
	return func(e *riemann.Event) bool {
		switch n := f.number(e); n.Kind {
		case riemann.Integer:
			return ofInteger(n.Int)
		case riemann.Float:
			return holds(op, n.Float, asFloat)
		}
		return false
	}
}

func compileLike(f field, l *likeMatcher) matcher {
	if f.kind == service {
		return func(e *riemann.Event) bool {
			return e.Set&riemann.HasService != 0 && l.match(bytesOf(e, e.Service))
		}
	}
	return func(e *riemann.Event) bool {
		text := f.text(e)
		return text != nil && l.match(text)
	}
}
