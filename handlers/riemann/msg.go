package riemann

import (
	"fmt"
	"math"
)

// batchEvents is how many events of a Msg are viewed at once. It bounds what a
// frame can make a Msg hold: an empty event takes two bytes in a frame, but its
// view 120.
const batchEvents = 1024

// Msg is a view of one request or reply, whose frame is its bytes without the
// length. It is meant to be reused; it is valid as long as the frame is.
type Msg struct {
	Events []Event // the events at hand; see Next

	Count   int // events in the Msg but the skipped ones
	Skipped int // events that were larger than Parse was told to take
	Largest int // bytes of the largest skipped event
	States  int // legacy states, which nobody reads

	HasQuery bool   // it has a query, even if that has no text
	Query    []byte // the query's text

	HasOK, OK bool   // whether a reply says how it went, and how
	HasError  bool   // whether a reply gives an error
	Error     []byte // the error's text

	frame    []byte
	rest     int     // where in frame the events behind the first batch begin
	maxEvent int     // see Parse
	fresh    bool    // Next was not called yet
	room     []Event // what Events is a part of
	seen     int     // events viewed in room
}

// Parse makes m the view of frame and validates all of it, so that either the
// whole Msg can be applied or, on an error (an *Error), nothing of it. Events of
// more than maxEvent bytes are counted and left out; 0 is no limit. The events
// come up by Next.
func (m *Msg) Parse(frame []byte, maxEvent int) error {
	m.Forget()
	return m.ParseMore(frame, maxEvent)
}

// ParseMore is Parse for a frame whose events come up behind those of the frames
// before, which must stay as they are until then: so the events of many small Msgs can
// be applied together. All else in m is of this frame. After an error the events of
// the frames before still come up. It may be called while Whole.
func (m *Msg) ParseMore(frame []byte, maxEvent int) error {
	if !m.Whole() {
		panic("BUG: a Msg whose events are not all viewed is joined by another")
	}
	before := m.seen
	*m = Msg{frame: frame, rest: len(frame), maxEvent: maxEvent, fresh: true, room: m.room, seen: before}
	err := m.parse(frame)
	if err != nil {
		m.seen, m.rest = before, len(frame)
	}
	return err
}

// Asks reports whether a frame has a query, as far as that can be told without looking into
// its events; of a frame that is no Msg, what stands in front of the mistake counts.
func Asks(frame []byte) bool {
	for i := 0; i < len(frame); {
		tag, _, next := nextField(frame, i)
		if next < 0 {
			return false
		}
		if tag == tagQuery {
			return true
		}
		i = next
	}
	return false
}

// Whole reports whether all events of the frame are viewed at once.
func (m *Msg) Whole() bool { return m.rest == len(m.frame) }

// Viewed is how many events the next call of Next brings up.
func (m *Msg) Viewed() int { return m.seen }

// Forget lets the events go that have not come up.
func (m *Msg) Forget() { m.seen, m.rest = 0, len(m.frame) }

func (m *Msg) parse(frame []byte) error {
	if uint64(len(frame)) > math.MaxUint32 {
		return &Error{In: theMsg, What: problemTexts[tooLarge]}
	}
	for i := 0; i < len(frame); {
		tag, value, next := nextField(frame, i)
		if next < 0 {
			return &Error{At: i, In: theMsg, What: problemTexts[-next]}
		}
		var err error
		if tag == tagEvents {
			err = m.takeEvent(frame[value:next:next], value, i)
		} else {
			err = m.take(tag, value, next)
		}
		if err != nil {
			return err
		}
		i = next
	}
	return nil
}

// Reset lets go of the frame, which m would otherwise keep from being collected
// until it has parsed others as long. m can be used again.
func (m *Msg) Reset() {
	clear(m.room)
	*m = Msg{room: m.room}
}

// Rest moves what has not come up yet out of m, without the memory for views, so that it
// can be kept; m can be used again.
func (m *Msg) Rest() Msg {
	rest := *m
	rest.room, rest.Events, rest.seen = nil, nil, 0
	m.Reset()
	return rest
}

// GoOn makes m go on with what Rest returned, in place of what m holds.
func (m *Msg) GoOn(rest Msg) {
	rest.room = m.room
	*m = rest
}

// take notes a field other than an event, whose value is from value to next.
func (m *Msg) take(tag uint64, value, next int) error {
	b := m.frame[value:next:next]
	switch tag {
	case tagOK:
		v, _ := uvarint(m.frame, value)
		m.HasOK, m.OK = true, v != 0
	case tagError:
		m.HasError, m.Error = true, b
	case tagStates:
		m.States++
		return m.check(b, value, "states", m.States-1, func(uint64, []byte) {})
	case tagQuery:
		m.HasQuery = true
		return m.check(b, value, "query", -1, func(tag uint64, text []byte) {
			if tag == tagString {
				m.Query = text
			}
		})
	}
	return nil
}

// check walks an inner message none of whose fields can be wrong in itself.
func (m *Msg) check(b []byte, off int, in string, n int, field func(tag uint64, value []byte)) error {
	for i := 0; i < len(b); {
		tag, value, next := nextField(b, i)
		if next < 0 {
			if n >= 0 {
				in = fmt.Sprintf("%s[%d]", in, n)
			}
			return &Error{At: off + i, In: in, What: problemTexts[-next]}
		}
		field(tag, b[value:next:next])
		i = next
	}
	return nil
}

// takeEvent notes the event b, whose field begins at at and its value at value.
func (m *Msg) takeEvent(b []byte, value, at int) error {
	e := m.slot()
	if off, why := e.walk(b, wholeEvent); why != 0 {
		return m.failEvent(e.fail(off, why), value)
	}
	if m.tooLarge(len(b)) {
		m.Skipped++
		m.Largest = max(m.Largest, len(b))
		return nil
	}
	m.Count++
	if m.seen < batchEvents {
		m.seen++
	} else if m.rest == len(m.frame) {
		m.rest = at
	}
	return nil
}

// failEvent makes the error of an event's own bytes that of the Msg's.
func (m *Msg) failEvent(inner *Error, value int) *Error {
	in := fmt.Sprintf("events[%d]", m.Count+m.Skipped)
	if inner.In != theEvent {
		in += "." + inner.In
	}
	return &Error{At: value + inner.At, In: in, What: inner.What}
}

func (m *Msg) tooLarge(n int) bool { return m.maxEvent > 0 && n > m.maxEvent }

// slot is the view for the next event. One more than a batch holds serves to
// validate the rest.
func (m *Msg) slot() *Event {
	if m.seen >= len(m.room) {
		m.room = append(m.room, Event{})
		m.room = m.room[:cap(m.room)]
	}
	return &m.room[m.seen]
}

// Next puts the next events of the Msg into Events, as many as are viewed at
// once, and reports whether there are any. The loop is
//
//	for m.Next() {
//		apply(m.Events)
//	}
func (m *Msg) Next() bool {
	if m.fresh {
		m.fresh = false
	} else {
		m.refill()
	}
	m.Events = m.room[:m.seen]
	return m.seen > 0
}

// refill views the next batch of the events behind the first one, which Parse
// has validated.
func (m *Msg) refill() {
	m.seen = 0
	for m.rest < len(m.frame) && m.seen < batchEvents {
		tag, value, next := nextField(m.frame, m.rest)
		if next < 0 {
			panic("BUG: a frame changed under its view")
		}
		m.rest = next
		if tag != tagEvents || m.tooLarge(next-value) {
			continue
		}
		if m.slot().Parse(m.frame[value:next:next]) != nil {
			panic("BUG: a frame changed under its view")
		}
		m.seen++
	}
}
