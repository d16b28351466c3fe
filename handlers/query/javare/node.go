package javare

// node is a part of a pattern: a class, a concat, an alternate, a repeat or an
// assertion. Groups are gone: without captures they mean nothing. Nodes are
// shared and never changed.
type node any

type (
	// class is one rune out of a set; of an empty set, there is none.
	class struct{ set set }
	// concat is its parts one after the other; without parts, the empty text.
	concat []node
	// alternate is any of its branches; without branches, nothing matches.
	alternate []node
	// repeat is its body min to max times, max < 0 for any number.
	repeat struct {
		body     node
		min, max int
	}
	// assertion holds at a place in the text and takes no rune.
	assertion struct {
		kind kind
		unix bool // only \n is a line end
	}
)

type kind byte

const (
	begin     kind = iota // the begin of the text
	end                   // the end of the text
	finalEnd              // the end, or before a line end that stands there: $ and \Z
	lineStart             // behind a line end or at the begin, if a rune follows: (?m)^
	lineEnd               // before a line end or at the end: (?m)$
	lastEnd               // the end of what is run: a text, or one without its last line end
	word                  // \b
	notWord               // \B
)

var (
	empty   = concat{}
	nothing = class{}
)

// join is a concat of the parts, without needless levels.
func join(parts ...node) node {
	var out concat
	for _, p := range parts {
		if c, ok := p.(concat); ok {
			out = append(out, c...)
		} else {
			out = append(out, p)
		}
	}
	if len(out) == 1 {
		return out[0]
	}
	return out
}

// either is an alternate of the branches, without needless levels and without
// those that can't match.
func either(branches ...node) node {
	var out alternate
	for _, b := range branches {
		if a, ok := b.(alternate); ok {
			out = append(out, a...)
		} else if !impossible(b) {
			out = append(out, b)
		}
	}
	switch len(out) {
	case 0:
		return nothing
	case 1:
		return out[0]
	}
	return out
}

// impossible reports whether n plainly matches no text.
func impossible(n node) bool {
	switch n := n.(type) {
	case class:
		return len(n.set) == 0
	case concat:
		for _, part := range n {
			if impossible(part) {
				return true
			}
		}
	}
	return false
}

// nullable reports whether n may match the empty text, at some place.
func nullable(n node) bool {
	switch n := n.(type) {
	case class:
		return false
	case concat:
		for _, part := range n {
			if !nullable(part) {
				return false
			}
		}
		return true
	case alternate:
		for _, branch := range n {
			if nullable(branch) {
				return true
			}
		}
		return false
	case repeat:
		return n.min == 0 || nullable(n.body)
	}
	return true
}

// free reports whether n may match the empty text anywhere.
func free(n node) bool {
	switch n := n.(type) {
	case concat:
		for _, part := range n {
			if !free(part) {
				return false
			}
		}
		return true
	case alternate:
		for _, branch := range n {
			if free(branch) {
				return true
			}
		}
		return false
	case repeat:
		return n.min == 0 || free(n.body)
	}
	return false
}

// first is the set of runes with which what n matches may begin.
func first(n node) set {
	switch n := n.(type) {
	case class:
		return n.set
	case concat:
		var s set
		for _, part := range n {
			s = union(s, first(part))
			if !nullable(part) {
				break
			}
		}
		return s
	case alternate:
		var s set
		for _, branch := range n {
			s = union(s, first(branch))
		}
		return s
	case repeat:
		return first(n.body)
	}
	return nil
}

// asserts reports whether n contains an assertion for which is says true.
func asserts(n node, is func(assertion) bool) bool {
	switch n := n.(type) {
	case concat:
		for _, part := range n {
			if asserts(part, is) {
				return true
			}
		}
	case alternate:
		for _, branch := range n {
			if asserts(branch, is) {
				return true
			}
		}
	case repeat:
		return asserts(n.body, is)
	case assertion:
		return is(n)
	}
	return false
}
