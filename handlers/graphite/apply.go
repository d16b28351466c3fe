package graphite

import (
	"bytes"

	"darboux/handlers/series"
)

// apply makes the point's series from a path without tags by the first template whose
// filter it passes and into which it fits. It returns false if there is none.
func (t *Templates) apply(p *series.Point, path []byte) bool {
	if t == nil || len(t.list) == 0 {
		return false
	}
	var s split
	s.at(path)
	for _, one := range t.list {
		if one.passes(&s) && one.fits(&s) {
			one.apply(p, &s)
			return true
		}
	}
	return false
}

// split is a path and where its first parts are.
type split struct {
	path  []byte
	parts int // how many are noted
	more  bool
	ends  [MostParts]int
}

// at notes the parts of path.
func (s *split) at(path []byte) {
	s.path = path
	for from := 0; s.parts < MostParts; s.parts++ {
		n := bytes.IndexByte(path[from:], '.')
		if n < 0 {
			s.ends[s.parts] = len(path)
			s.parts++
			return
		}
		s.ends[s.parts] = from + n
		from += n + 1
	}
	s.more = true
}

// begin is where the i-th part begins.
func (s *split) begin(i int) int {
	if i == 0 {
		return 0
	}
	return s.ends[i-1] + 1
}

func (s *split) part(i int) []byte { return s.path[s.begin(i):s.ends[i]] }

// passes reports whether the path begins as the filter says.
func (t *template) passes(s *split) bool {
	if len(t.filter) > s.parts {
		return false
	}
	for i, want := range t.filter {
		if want != anything && want != string(s.part(i)) {
			return false
		}
	}
	return true
}

// fits reports whether every part of the path has a name, or is skipped on purpose:
// what is not named would make two series one. One part must be the service's.
func (t *template) fits(s *split) bool {
	if !t.rest && (s.more || s.parts > t.parts) {
		return false
	}
	for _, r := range t.service {
		if len(t.value(s, r)) > 0 {
			return true
		}
	}
	return false
}

// value is the parts of a run with the dots between them; nil if the path is too short
// to have any.
func (t *template) value(s *split, r run) []byte {
	switch {
	case r.from >= s.parts:
		return nil
	case t.rest && r.to == t.parts:
		return s.path[s.begin(r.from):]
	}
	return s.path[s.begin(r.from):s.ends[min(r.to, s.parts)-1]]
}

func (t *template) apply(p *series.Point, s *split) {
	for i, r := range t.service {
		value := t.value(s, r)
		if i > 0 && value != nil {
			p.Name(dot)
		}
		p.Name(value)
	}
	for i := range t.named {
		o := &t.named[i]
		if value := t.value(s, o.run); value != nil {
			p.Tag(o.key, value)
		}
	}
}

var dot = []byte{'.'}
