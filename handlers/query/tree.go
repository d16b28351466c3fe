package query

import (
	"strings"

	"darboux/handlers/query/javare"
)

// predicate is a node of a query's tree. Trees are never changed.
type predicate interface{ String() string }

type (
	// and holds if all its terms do; there are at least two.
	and struct{ terms []predicate }
	// or holds if one of its terms does; there are at least two.
	or struct{ terms []predicate }
	// not holds if its term does not.
	not struct{ term predicate }
	// compare holds between two values; unless op is = or !=, right is a number.
	compare struct {
		op          operator
		left, right value
	}
	// like holds for a text that the pattern covers, in which % is anything.
	like struct {
		left    value
		pattern string
	}
	// match holds for a text in which the regular expression is found.
	match struct {
		left    value
		pattern string
		regexp  *javare.Regexp
	}
	// tagged holds for an event with that tag.
	tagged struct{ tag string }
	// present holds for a value other than nil and false.
	present struct{ of value }
)

type operator string

const (
	equal        operator = "="
	notEqual     operator = "!="
	less         operator = "<"
	lessEqual    operator = "<="
	greater      operator = ">"
	greaterEqual operator = ">="
)

// of reports whether op holds where a comparison gave sign.
func (op operator) of(sign int) bool {
	switch op {
	case less:
		return sign < 0
	case lessEqual:
		return sign <= 0
	case greater:
		return sign > 0
	}
	return sign >= 0
}

// holds reports whether a op b; nothing holds for NaN.
func holds[number int64 | float64](op operator, a, b number) bool {
	switch op {
	case less:
		return a < b
	case lessEqual:
		return a <= b
	case greater:
		return a > b
	}
	return a >= b
}

func (p and) String() string { return joined(p.terms, " and ", bindsAnd) }
func (p or) String() string  { return joined(p.terms, " or ", bindsOr) }
func (p not) String() string { return "not " + within(p.term, bindsNot) }

func (p compare) String() string {
	return p.left.String() + " " + string(p.op) + " " + p.right.String()
}

func (p like) String() string {
	return p.left.String() + " =~ " + string(appendQuoted(nil, p.pattern))
}

func (p match) String() string {
	return p.left.String() + " ~= " + string(appendQuoted(nil, p.pattern))
}

func (p tagged) String() string { return "tagged " + string(appendQuoted(nil, p.tag)) }

func (p present) String() string { return p.of.String() }

// How tightly the parts of a query hold together.
const (
	bindsOr = iota
	bindsAnd
	bindsNot
	bindsAlone
)

func binding(p predicate) int {
	switch p.(type) {
	case or:
		return bindsOr
	case and:
		return bindsAnd
	case not:
		return bindsNot
	}
	return bindsAlone
}

// joined writes terms; one that is joined in the same way itself keeps its
// parentheses.
func joined(terms []predicate, by string, outer int) string {
	var b strings.Builder
	for i, t := range terms {
		if i > 0 {
			b.WriteString(by)
		}
		b.WriteString(within(t, outer+1))
	}
	return b.String()
}

// within writes p where only what binds at least so tightly needs no parentheses.
func within(p predicate, least int) string {
	if binding(p) < least {
		return "(" + p.String() + ")"
	}
	return p.String()
}

// always is the predicate that holds always, or never.
func always(holds bool) predicate { return present{value{kind: isTruth, truth: holds}} }

// isAlways reports whether p holds always, or never.
func isAlways(p predicate, holds bool) bool {
	t, ok := p.(present)
	return ok && t.of.kind == isTruth && t.of.truth == holds
}
