package query

// simplify makes of a tree one that means the same and is easier to compile: no
// constant is left beside something else, no not stands over a not, no and
// within an and, a comparison has its constant on the right, and only fields and
// constants that can be equal are compared. Logic has two values here, so this
// is safe: a predicate holds or it does not.
func simplify(p predicate) predicate {
	switch p := p.(type) {
	case and:
		return simplifyAnd(p)
	case or:
		return simplifyOr(p)
	case not:
		return negate(simplify(p.term))
	case compare:
		return simplifyCompare(p)
	case like:
		if p.left.kind == isField {
			return textOnly(p.left, p)
		}
		return always(p.left.kind == isText && newLikeMatcher(p.pattern).match([]byte(p.left.text)))
	case match:
		if p.left.kind == isField {
			return textOnly(p.left, p)
		}
		return always(p.left.kind == isText && p.regexp.Match([]byte(p.left.text)))
	case present:
		if p.of.constant() {
			return always(p.of.truthy())
		}
	}
	return p
}

func negate(p predicate) predicate {
	switch {
	case isAlways(p, true):
		return always(false)
	case isAlways(p, false):
		return always(true)
	}
	if p, ok := p.(not); ok {
		return p.term
	}
	return not{p}
}

func simplifyAnd(p and) predicate {
	var terms []predicate
	for _, t := range p.terms {
		switch t := simplify(t).(type) {
		case and:
			terms = append(terms, t.terms...)
		default:
			if isAlways(t, false) {
				return t
			}
			if !isAlways(t, true) {
				terms = append(terms, t)
			}
		}
	}
	switch len(terms) {
	case 0:
		return always(true)
	case 1:
		return terms[0]
	}
	return and{terms}
}

func simplifyOr(p or) predicate {
	var terms []predicate
	for _, t := range p.terms {
		switch t := simplify(t).(type) {
		case or:
			terms = append(terms, t.terms...)
		default:
			if isAlways(t, true) {
				return t
			}
			if !isAlways(t, false) {
				terms = append(terms, t)
			}
		}
	}
	switch len(terms) {
	case 0:
		return always(false)
	case 1:
		return terms[0]
	}
	return or{terms}
}

// textOnly is p if the field can be a text, and never otherwise.
func textOnly(f value, p predicate) predicate {
	if fieldOf(f.text).holdsText() {
		return p
	}
	return always(false)
}

func simplifyCompare(p compare) predicate {
	if p.op != equal && p.op != notEqual {
		return simplifyOrder(p)
	}
	same := simplifyEqual(p.left, p.right)
	if p.op == notEqual {
		return negate(same)
	}
	return same
}

func simplifyOrder(p compare) predicate {
	if p.left.constant() {
		return always(p.left.ordered(p.op, p.right))
	}
	if !fieldOf(p.left.text).holdsNumber() {
		return always(false)
	}
	return p
}

// simplifyEqual is left = right.
func simplifyEqual(left, right value) predicate {
	if left.constant() {
		left, right = right, left
	}
	switch {
	case left.constant():
		return always(left.equals(right))
	case right.kind == isField:
		if left.text == right.text { // the same value, even if that is NaN
			return always(true)
		}
	case right.kind == isNil:
		return negate(present{left})
	case right.kind == isText && fieldOf(left.text).holdsText():
	case (right.kind == isInteger || right.kind == isFloat) && fieldOf(left.text).holdsNumber():
	default:
		return always(false)
	}
	return compare{equal, left, right}
}
