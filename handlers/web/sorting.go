package web

import (
	"bytes"
	"cmp"
	"container/heap"
	"fmt"
	"io"
	"math"
	"math/big"
	"sort"

	"github.com/valyala/fasthttp"

	"darboux/handlers/riemann"
)

// sorting is a reply of the first events by a field. It holds as many as are wanted.
type sorting struct {
	*search
	out    writer
	top    topEvents
	held   int  // bytes of the events held
	begun  bool // it is among the API's sorters
	sorted bool
	sent   int // of them
}

// next implements body.
func (s *sorting) next(dst []byte, limit int) ([]byte, error) {
	if !s.sorted {
		done, err := s.gather()
		if err != nil || !done {
			return dst, err
		}
		s.api.sorters.leave(s)
		s.top.first(s.want.falling)
		s.sorted = true
		s.out.form, s.out.json.fields = s.want.form, s.want.fields
	}
	for ; s.sent < len(s.top.events) && len(dst) < limit; s.sent++ {
		dst = s.out.append(dst, s.top.events[s.sent].wire, s.view)
	}
	if s.sent == len(s.top.events) {
		return s.out.end(dst), io.EOF
	}
	return dst, nil
}

// gather looks for events, unless others have to give room first.
func (s *sorting) gather() (done bool, err error) {
	all := &s.api.sorters
	if !s.begun {
		s.begun = true
		all.enter(s)
	}
	switch {
	case !all.full():
		return s.slice(all.full, s.take)
	case all.youngest(s):
		return false, &StatusError{fasthttp.StatusServiceUnavailable,
			fmt.Sprintf("replies that are being sorted hold %d bytes, over the limit of %d bytes for all of them: ask again, or for less", all.held.Load(), SortingSize)}
	}
	return false, nil
}

// take keeps an event if it is among the first.
func (s *sorting) take(event []byte) error {
	s.top.falling = s.want.falling
	k := keyOf(s.view(event), s.want.sort)
	if len(s.top.events) == s.want.limit {
		last := &s.top.events[0]
		if !s.top.before(&k, &last.key) {
			return nil
		}
		s.hold(len(event) - len(last.wire))
		*last = sortedEvent{k.clone(), append(last.wire[:0], event...)}
		heap.Fix(&s.top, 0)
	} else {
		s.hold(len(event) + sizeOfSorted)
		heap.Push(&s.top, sortedEvent{k.clone(), bytes.Clone(event)})
	}
	if s.held > s.api.MaxReply.Value {
		return &StatusError{fasthttp.StatusBadRequest,
			fmt.Sprintf("events of %d bytes to be sorted are over the limit of %d bytes (%s): lower the parameter limit", s.held, s.api.MaxReply.Value, s.api.MaxReply.Flag)}
	}
	return nil
}

const (
	// SortingSize is about the most bytes that all replies that are being sorted may hold
	// together: beyond it the youngest is refused.
	SortingSize = 32 << 20
	// sizeOfSorted is what an event takes beside its bytes: its key, and its place.
	sizeOfSorted = 128
)

func (s *sorting) hold(n int) {
	s.held += n
	s.api.sorters.held.Add(int64(n))
}

// Close implements io.Closer: what is held is let go of.
func (s *sorting) Close() error {
	s.api.sorters.leave(s)
	s.hold(-s.held)
	return nil
}

// sortKey is what an event is sorted by: numbers come before texts, and both before
// nothing.
type sortKey struct {
	kind   int // 0 number, 1 text, 2 missing
	number riemann.Number
	text   []byte
}

func (k sortKey) clone() sortKey {
	k.text = bytes.Clone(k.text)
	return k
}

func keyOf(e *riemann.Event, field string) sortKey {
	switch field {
	case "metric":
		return numberKey(e.Metric())
	case "time":
		return numberKey(riemann.Number{Kind: riemann.Integer, Int: e.TimeMicros})
	case "ttl":
		return numberKey(riemann.Number{Kind: riemann.Float, Float: float64(e.TTL)})
	case "host":
		return textKey(e.HostBytes())
	case "service":
		return textKey(e.ServiceBytes())
	case "state":
		return textKey(e.StateBytes())
	case "description":
		return textKey(e.DescriptionBytes())
	}
	value, ok := e.Attribute(field)
	if !ok {
		return sortKey{kind: 2}
	}
	return sortKey{kind: 1, text: value}
}

// numberKey sorts what is no number like nothing.
func numberKey(n riemann.Number) sortKey {
	if n.Kind == riemann.Absent || n.Kind == riemann.Float && math.IsNaN(n.Float) {
		return sortKey{kind: 2}
	}
	return sortKey{number: n}
}

// compareNumbers compares numbers by their values, whatever their kinds: a float has not the
// room for every integer.
func compareNumbers(a, b riemann.Number) int {
	switch {
	case a.Kind == riemann.Integer && b.Kind == riemann.Integer:
		return cmp.Compare(a.Int, b.Int)
	case a.Kind == riemann.Float && b.Kind == riemann.Float:
		return cmp.Compare(a.Float, b.Float)
	case a.Kind == riemann.Integer:
		return new(big.Float).SetInt64(a.Int).Cmp(big.NewFloat(b.Float))
	}
	return -compareNumbers(b, a)
}

func textKey(text []byte) sortKey {
	if text == nil {
		return sortKey{kind: 2}
	}
	return sortKey{kind: 1, text: text}
}

type sortedEvent struct {
	key  sortKey
	wire []byte
}

// topEvents is a heap whose head is the last of the first.
type topEvents struct {
	events  []sortedEvent
	falling bool
}

// before reports whether a is to be sent before b. What has no value comes last, either
// way.
func (t *topEvents) before(a, b *sortKey) bool {
	if a.kind != b.kind {
		return a.kind < b.kind
	}
	if t.falling {
		a, b = b, a
	}
	if a.kind == 1 {
		return bytes.Compare(a.text, b.text) < 0
	}
	return compareNumbers(a.number, b.number) < 0
}

// first puts the events into the order in which they are sent.
func (t *topEvents) first(falling bool) {
	t.falling = falling
	sort.SliceStable(t.events, func(i, j int) bool { return t.before(&t.events[i].key, &t.events[j].key) })
}

func (t *topEvents) Len() int           { return len(t.events) }
func (t *topEvents) Less(i, j int) bool { return t.before(&t.events[j].key, &t.events[i].key) }
func (t *topEvents) Swap(i, j int)      { t.events[i], t.events[j] = t.events[j], t.events[i] }
func (t *topEvents) Push(x any)         { t.events = append(t.events, x.(sortedEvent)) }

// Pop is never called: the heap only grows, up to its limit.
func (t *topEvents) Pop() any { panic("BUG: popped") }
