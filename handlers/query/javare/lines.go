package javare

import "slices"

// Under (?m), Java's ^ and $ hold beside every line end: \n, \r\n, \r, U+0085,
// U+2028 and U+2029, but never within \r\n, and ^ never at the end of the text.
// RE2 knows \n only. At the edges of a pattern the line end can be taken into
// the match instead, since only whether there is a match counts: "(?m)^a" becomes
// "(?:\A|[\n\r...])a". Within a pattern there is no such way: it is refused.
//
// $ is ^ in a mirror: one rewrite serves both.

// anchorLines rewrites all line starts and line ends.
func anchorLines(tree node) node {
	if asserts(tree, isLineEnd) {
		tree = mirror((&edge{is: isLineEnd}).anchor(mirror(tree), empty))
	}
	if asserts(tree, isLineStart) {
		tree = (&edge{is: isLineStart}).anchor(tree, empty)
	}
	if n := countSteps(tree); n > MaxSteps {
		panic(&Error{1, "a pattern of too many steps once (?m) is resolved,"})
	}
	return tree
}

func isLineStart(a assertion) bool { return a.kind == lineStart }
func isLineEnd(a assertion) bool   { return a.kind == lineEnd }

// mirror turns the order of all parts around.
func mirror(n node) node {
	switch n := n.(type) {
	case concat:
		out := make(concat, 0, len(n))
		for _, part := range slices.Backward(n) {
			out = append(out, mirror(part))
		}
		return out
	case alternate:
		out := make(alternate, 0, len(n))
		for _, branch := range n {
			out = append(out, mirror(branch))
		}
		return out
	case repeat:
		return repeat{mirror(n.body), n.min, n.max}
	}
	return n
}

// edge resolves one kind of anchor at the begin of a pattern (which is its end
// in the mirror).
type edge struct {
	is    func(assertion) bool
	calls int
}

// maxCases bounds the cases to tell apart, which can be exponentially many and
// each take time in the length of the pattern.
const maxCases = 200

func (e *edge) spend() {
	if e.calls++; e.calls > maxCases {
		panic(&Error{1, `a (?m) "^" or "$" beside too many parts that may be empty, which RE2 can't run,`})
	}
}

// anchor is n followed by rest, with the anchors in n resolved.
func (e *edge) anchor(n, rest node) node {
	if !asserts(n, e.is) {
		return join(n, rest)
	}
	switch n := n.(type) {
	case assertion:
		return e.behind(n, rest)
	case concat:
		return e.anchorFirst(n, rest)
	case alternate:
		var branches []node
		for _, branch := range n {
			branches = append(branches, e.anchor(branch, rest))
		}
		return either(branches...)
	case repeat:
		if n.min == 0 && n.max == 1 {
			return either(e.anchor(n.body, rest), rest)
		}
	}
	panic(&Error{1, `a (?m) "^" or "$" within a repeat, which RE2 can't run,`})
}

// anchorFirst does without the parts before an anchor that may be empty: the
// pattern is found without them wherever it is found with them.
func (e *edge) anchorFirst(n concat, rest node) node {
	for i, part := range n {
		if asserts(part, e.is) {
			after := join(append(slices.Clone(n[i+1:]), rest)...)
			if asserts(after, e.is) {
				break
			}
			return e.anchor(part, after)
		}
		if !free(part) {
			break
		}
	}
	panic(&Error{1, `a (?m) "^" or "$" in the middle of a pattern, which RE2 can't run,`})
}

// behind is the pattern rest where the anchor a holds at its begin.
func (e *edge) behind(a assertion, rest node) node {
	edgeOfText, takes, never := assertion{begin, a.unix}, '\r', '\n'
	if a.kind == lineEnd {
		edgeOfText, takes, never = assertion{lastEnd, a.unix}, '\n', '\r'
	} else {
		rest = e.beforeEnd(rest)
	}
	if a.unix {
		return join(either(edgeOfText, class{runesOf('\n')}), rest)
	}
	if !first(rest).has(never) && (free(rest) || !nullable(rest)) {
		return join(either(edgeOfText, class{lineEnds}), rest)
	}
	return either(
		join(either(edgeOfText, class{lineEnds.without(runesOf(takes))}), rest),
		join(class{runesOf(takes)}, e.but(never, rest, empty)))
}

// beforeEnd is rest at a place that is not the end of the text.
func (e *edge) beforeEnd(rest node) node {
	switch {
	case free(rest):
		return class{everything} // whatever comes: it is found
	case !nullable(rest):
		return rest
	case asserts(rest, func(a assertion) bool { return a.kind != end && a.kind != lastEnd }):
		panic(&Error{1, `a (?m) "^" before an assertion alone, which RE2 can't run,`})
	}
	return e.someOf(rest, empty)
}

// someOf is n followed by after without the empty text. Assertions in n hold at
// the end only.
func (e *edge) someOf(n, after node) node {
	e.spend()
	switch n := n.(type) {
	case concat:
		if len(n) == 0 {
			return e.someEmpty(after)
		}
		return e.someOf(n[0], join(append(slices.Clone(n[1:]), after)...))
	case alternate:
		var branches []node
		for _, branch := range n {
			branches = append(branches, e.someOf(branch, after))
		}
		return either(branches...)
	case repeat:
		mustTake(n.body)
		if n.min == 0 {
			return either(e.someOf(n.body, join(n.less(), after)), e.someEmpty(after))
		}
	case assertion:
		return nothing
	}
	return join(n, after)
}

// someEmpty is someOf for nothing followed by after.
func (e *edge) someEmpty(after node) node {
	if c, ok := after.(concat); ok && len(c) == 0 {
		return nothing
	}
	return e.someOf(after, empty)
}

// mustTake refuses a repeat whose body may be empty.
func mustTake(body node) {
	if nullable(body) {
		panic(&Error{1, `a repeat of what may be empty beside a (?m) "^" or "$", which RE2 can't run,`})
	}
}

// less is the repeat once its body has matched once.
func (r repeat) less() node {
	r.min = max(r.min-1, 0)
	if r.max > 0 {
		r.max--
	}
	return r.simplify()
}

// otherThan is any rune but c, or none where the text begins: what stands before
// a line end that is found without anything before it.
func otherThan(c rune) node {
	return either(assertion{kind: begin}, class{runesOf(c).not()})
}

// but is n followed by after where the first rune is not c.
func (e *edge) but(c rune, n, after node) node {
	e.spend()
	switch n := n.(type) {
	case class:
		return join(class{n.set.without(runesOf(c))}, after)
	case assertion:
		if n.kind == lineStart { // never within \r\n
			return join(n, after)
		}
		return join(n, e.butEmpty(c, after))
	case concat:
		if len(n) == 0 {
			return e.butEmpty(c, after)
		}
		return e.but(c, n[0], join(append(slices.Clone(n[1:]), after)...))
	case alternate:
		var branches []node
		for _, branch := range n {
			branches = append(branches, e.but(c, branch, after))
		}
		return either(branches...)
	case repeat:
		mustTake(n.body)
		some := e.but(c, n.body, join(n.less(), after))
		if n.min > 0 {
			return some
		}
		return either(some, e.butEmpty(c, after))
	}
	panic("BUG: a node of no known kind")
}

func (e *edge) butEmpty(c rune, after node) node {
	if rest, ok := after.(concat); ok && len(rest) == 0 {
		return otherThan(c)
	}
	return e.but(c, after, empty)
}
