package javare

// Java's $ (without (?m)) and \Z hold at the end of the text and also before a
// line end that stands there. RE2 knows the end only. So a pattern with them is
// run again on the text without that line end: there they are the end, and \z,
// which is not, can't match.
//
// That is exact unless the pattern must go on with the line end itself, as in
// "a$\n": this is refused.

// endings tells about the final ends of a pattern: whether there are any, and
// which line ends they and those of lines look for.
type endings struct{ any, unix, other bool }

func finalEnds(tree node) endings {
	var found endings
	found.visit(tree, rest{free: true})
	if found.any && found.unix && found.other {
		panic(&Error{1, `a mixture of "$" with and without (?d), which RE2 can't run,`})
	}
	return found
}

// rest tells about what comes behind a part of a pattern.
type rest struct {
	free  bool // it may be empty
	first set
}

func (e *endings) visit(n node, r rest) {
	switch n := n.(type) {
	case concat:
		for i := len(n) - 1; i >= 0; i-- {
			e.visit(n[i], r)
			if nullable(n[i]) {
				r = rest{r.free && free(n[i]), union(r.first, first(n[i]))}
			} else {
				r = rest{false, first(n[i])}
			}
		}
	case alternate:
		for _, branch := range n {
			e.visit(branch, r)
		}
	case repeat:
		if n.max < 0 || n.max > 1 {
			again := n.min > 1 && !free(n.body)
			r = rest{r.free && !again, union(r.first, first(n.body))}
		}
		e.visit(n.body, r)
	case assertion:
		e.meet(n, r)
	}
}

func (e *endings) meet(a assertion, r rest) {
	if a.kind != finalEnd && a.kind != lastEnd {
		return
	}
	e.unix = e.unix || a.unix
	e.other = e.other || !a.unix
	if a.kind == lastEnd {
		return
	}
	e.any = true
	if !r.free && r.first.meets(lineEnds) {
		panic(&Error{1, `a "$" or "\Z" that a line end must follow, which RE2 can't run,`})
	}
}
