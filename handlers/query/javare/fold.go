package javare

import (
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

// foldUnicode adds all runes that are the same in Java's comparison, which takes
// the upper case and then the lower case of both, as (?iu) does.
func (s set) foldUnicode() set {
	out := append(set(nil), s...)
	if len(s) == 1 && s[0].lo == s[0].hi { // by far the most frequent
		return out.add(caseGroups()[s[0].lo]).tidy()
	}
	for r, group := range caseGroups() {
		if s.has(r) {
			out = out.add(group)
		}
	}
	return out.tidy()
}

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
