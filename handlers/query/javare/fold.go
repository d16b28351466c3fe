package javare

import (
	"slices"
	"sync"
	"unicode"
)

// foldASCII adds the other case of each ASCII letter, as (?i) does.
func (s set) foldASCII() set {
	upper, lower := s.and(set{{'A', 'Z'}}), s.and(set{{'a', 'z'}})
	out := append(set(nil), s...)
	for _, r := range upper {
		out = append(out, interval{r.lo + 32, r.hi + 32})
	}
	for _, r := range lower {
		out = append(out, interval{r.lo - 32, r.hi - 32})
	}
	return out.tidy()
}

// sameAs is all runes that Java holds for the same as r under (?iu): it compares
// the lower case of the upper case of both.
func sameAs(r rune) set {
	return set{{r, r}}.add(caseGroups()[r]).tidy()
}

// foldUnicode adds to a range the runes of which the upper case, or the lower
// case of that, is in it, as (?iu) does. The result is not yet tidy.
func (r interval) foldUnicode() set {
	out := set{r}
	for _, pairs := range casePairs() {
		from, _ := slices.BinarySearchFunc(pairs, r.lo, func(p pair, lo rune) int { return int(p.folded - lo) })
		for _, p := range pairs[from:] {
			if p.folded > r.hi {
				break
			}
			out = append(out, interval{p.rune, p.rune})
		}
	}
	return out
}

// pair is a rune and what one of the two steps of Java's comparison makes of it.
type pair struct{ folded, rune rune }

// casePairs are, for each of the two steps, the pairs in the order of the folded.
var casePairs = sync.OnceValue(func() [2][]pair {
	var upper, lower []pair
	for r := range caseGroups() {
		up := unicode.ToUpper(r)
		upper = append(upper, pair{up, r})
		lower = append(lower, pair{unicode.ToLower(up), r})
	}
	byFolded := func(a, b pair) int { return int(a.folded - b.folded) }
	slices.SortFunc(upper, byFolded)
	slices.SortFunc(lower, byFolded)
	return [2][]pair{upper, lower}
})

func (s set) add(runes []rune) set {
	for _, r := range runes {
		s = append(s, interval{r, r})
	}
	return s
}

// caseGroups gives for a rune all those that Java holds for the same, if there
// are others.
var caseGroups = sync.OnceValue(func() map[rune][]rune {
	byFold := map[rune][]rune{}
	for _, table := range unicode.CaseRanges {
		for r := rune(table.Lo); r <= rune(table.Hi); r++ {
			f := unicode.ToLower(unicode.ToUpper(r))
			byFold[f] = append(byFold[f], r)
		}
	}
	groups := map[rune][]rune{}
	for _, group := range byFold {
		if len(group) > 1 {
			for _, r := range group {
				groups[r] = group
			}
		}
	}
	return groups
})
