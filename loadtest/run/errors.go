package run

import (
	"cmp"
	"slices"
	"sync"

	"darboux/loadtest/result"
)

const (
	maxErrorKinds = 32   // different errors told apart; more count as one
	maxErrorTexts = 1000 // rejections whose text is read; later ones are only counted
)

// errorTexts counts the errors met, by kind and text.
type errorTexts struct {
	mu    sync.Mutex
	count map[[2]string]int64
}

func (e *errorTexts) note(kind, text string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	key := [2]string{kind, text}
	if _, known := e.count[key]; !known && len(e.count) >= maxErrorKinds {
		key[1] = "(other errors)"
	}
	if e.count == nil {
		e.count = make(map[[2]string]int64)
	}
	e.count[key]++
}

// list is all of them, the most frequent first.
func (e *errorTexts) list() []result.ErrorText {
	e.mu.Lock()
	defer e.mu.Unlock()
	out := []result.ErrorText{}
	for key, n := range e.count {
		out = append(out, result.ErrorText{Kind: key[0], Text: key[1], Count: n})
	}
	slices.SortFunc(out, func(a, b result.ErrorText) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Text, b.Text))
	})
	return out
}
