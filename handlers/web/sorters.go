package web

import (
	"slices"
	"sync"
	"sync/atomic"
)

// sorters are the replies that are being sorted. Where there is no room for all of them
// the youngest that still gathers is refused, and the others wait for that: so the eldest
// comes to its end, however many ask.
type sorters struct {
	held atomic.Int64 // bytes of events, of those that are being sent, too

	mu        sync.Mutex
	gathering []*sorting // the eldest first
}

// full reports whether they hold more than they may.
func (s *sorters) full() bool { return s.held.Load() > SortingSize }

// enter counts a reply among those that gather.
func (s *sorters) enter(one *sorting) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.gathering = append(s.gathering, one)
}

// leave counts it out, if it is counted.
func (s *sorters) leave(one *sorting) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if i := slices.Index(s.gathering, one); i >= 0 {
		s.gathering = slices.Delete(s.gathering, i, i+1)
	}
}

// youngest reports whether a reply began to gather last.
func (s *sorters) youngest(one *sorting) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.gathering[len(s.gathering)-1] == one
}
