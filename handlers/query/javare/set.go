package javare

import (
	"slices"
	"unicode"
)

// set is a set of runes: its ranges, of which both ends belong to it, sorted,
// apart from each other and not next to each other.
type set []interval

type interval struct{ lo, hi rune }

const maxRune = unicode.MaxRune

var (
	everything = set{{0, maxRune}}
	lineEnds   = runesOf('\n', '\r', 0x85, 0x2028, 0x2029)
)

func runesOf(runes ...rune) set {
	s := make(set, 0, len(runes))
	for _, r := range runes {
		s = append(s, interval{r, r})
	}
	return s.tidy()
}

// tidy sorts and joins what was appended in any order.
func (s set) tidy() set {
	slices.SortFunc(s, func(a, b interval) int { return int(a.lo) - int(b.lo) })
	out := s[:0]
	for _, r := range s {
		if n := len(out); n > 0 && r.lo <= out[n-1].hi+1 {
			out[n-1].hi = max(out[n-1].hi, r.hi)
		} else {
			out = append(out, r)
		}
	}
	return out
}

func union(sets ...set) set { return slices.Concat(sets...).tidy() }

func (s set) not() set {
	out := make(set, 0, len(s)+1)
	next := rune(0)
	for _, r := range s {
		if r.lo > next {
			out = append(out, interval{next, r.lo - 1})
		}
		next = r.hi + 1
	}
	if next <= maxRune {
		out = append(out, interval{next, maxRune})
	}
	return out
}

func (s set) and(t set) set { return union(s.not(), t.not()).not() }

func (s set) without(t set) set { return s.and(t.not()) }

func (s set) has(r rune) bool {
	_, found := slices.BinarySearchFunc(s, r, func(i interval, r rune) int {
		switch {
		case i.hi < r:
			return -1
		case i.lo > r:
			return 1
		}
		return 0
	})
	return found
}

func (s set) meets(t set) bool { return len(s.and(t)) > 0 }

// fromTables is the union of tables of package unicode.
func fromTables(tables ...*unicode.RangeTable) set {
	var s set
	for _, t := range tables {
		for _, r := range t.R16 {
			s = appendStrided(s, rune(r.Lo), rune(r.Hi), rune(r.Stride))
		}
		for _, r := range t.R32 {
			s = appendStrided(s, rune(r.Lo), rune(r.Hi), rune(r.Stride))
		}
	}
	return s.tidy()
}

func appendStrided(s set, lo, hi, stride rune) set {
	if stride == 1 {
		return append(s, interval{lo, hi})
	}
	for r := lo; r <= hi; r += stride {
		s = append(s, interval{r, r})
	}
	return s
}
