package riemann

import (
	"encoding/binary"
	"fmt"
	"math"
)

// Parse makes e the view of b, the wire bytes of one Event. On an error (an
// *Error) e is not usable.
func (e *Event) Parse(b []byte) error {
	if uint64(len(b)) > math.MaxUint32 {
		return e.fail(0, tooLarge)
	}
	if at, why := e.walk(b, wholeEvent); why != 0 {
		return e.fail(at, why)
	}
	return nil
}

// wholeEvent is a want of walk that is never satisfied.
const wholeEvent = ^Fields(0)

// walk makes e the view of b up to where it has seen all the fields of want, or
// returns the place and the problem of what is wrong.
func (e *Event) walk(b []byte, want Fields) (at int, why problem) {
	*e = Event{Raw: b}
	i := e.usual(b, 0, want)
	for i < len(b) && e.Set&want != want {
		next, at := e.unusual(b, i)
		if next < 0 {
			return at, problem(-next)
		}
		i = e.usual(b, next, want)
	}
	return 0, 0
}

// usual takes the fields from b[i:] on up to the end, or to where e has all of
// want, or to the first that is not of the usual form, and returns the index
// there. Usual are tags and lengths of one byte, integers of up to eight, and
// attributes of a key and a value. This is the server's hottest loop: it calls
// nothing that is not inlined, so that everything stays in registers.
func (e *Event) usual(b []byte, i int, want Fields) int {
	set, again := e.Set, e.again
fields:
	for uint(i) < uint(len(b)) && set&want != want {
		tag, next := b[i], i+1
		var bit Fields
		var s Span
		if tag&7 == wireBytes {
			if uint(next) >= uint(len(b)) || b[next] >= 0x80 || int(b[next]) >= len(b)-next {
				break
			}
			s = Span{uint32(next + 1), uint32(b[next])}
			next += 1 + int(b[next])
		}
		switch tag {
		case tagState:
			e.State, bit = s, HasState
		case tagService:
			e.Service, bit = s, HasService
		case tagHost:
			e.Host, bit = s, HasHost
		case tagDescription:
			e.Description, bit = s, HasDescription
		case tagTags:
			bit = HasTags
			e.tags.extend(i, next)
		case tagAttributes:
			if !plainAttribute(b[s.Off:next]) {
				break fields
			}
			bit = HasAttributes
			e.attrs.extend(i, next)
		case tagTime, tagTimeMicros, tagSint64:
			v, n := shortVarint(b, next)
			if n > 8 {
				break fields
			}
			next += n
			bit = e.setInteger(tag, v)
		case tagTTL, tagF:
			if len(b)-next < 4 {
				break fields
			}
			bit = e.setSingle(tag, binary.LittleEndian.Uint32(b[next:]))
			next += 4
		case tagD:
			if len(b)-next < 8 {
				break fields
			}
			e.D, bit = math.Float64frombits(binary.LittleEndian.Uint64(b[next:])), HasD
			next += 8
		default:
			break fields
		}
		again |= set & bit
		set |= bit
		i = next
	}
	e.Set, e.again = set, again&^(HasTags|HasAttributes)
	return i
}

// unusual takes the field at b[i:], whatever its form, and returns the index
// behind it, or a negative problem and its place.
func (e *Event) unusual(b []byte, i int) (next, at int) {
	tag, value, next := nextField(b, i)
	if next < 0 {
		return next, i
	}
	bit := fieldOf(tag)
	switch bit {
	case HasState, HasService, HasHost, HasDescription:
		*e.textSpan(bit) = Span{uint32(value), uint32(next - value)}
	case HasTags:
		e.tags.extend(i, next)
	case HasAttributes:
		var a Attribute
		if off, why := a.walk(b[value:next]); why != 0 {
			return -int(why), value + off
		}
		e.attrs.extend(i, next)
	case HasTime, HasTimeMicros, HasSint64:
		v, _ := uvarint(b, value)
		e.setInteger(byte(tag), v)
	case HasTTL, HasF:
		e.setSingle(byte(tag), binary.LittleEndian.Uint32(b[value:]))
	case HasD:
		e.D = math.Float64frombits(binary.LittleEndian.Uint64(b[value:]))
	}
	e.again |= e.Set & bit &^ (HasTags | HasAttributes)
	e.Set |= bit
	return next, 0
}

// textSpan is where e notes the place of a string field.
func (e *Event) textSpan(bit Fields) *Span {
	switch bit {
	case HasState:
		return &e.State
	case HasService:
		return &e.Service
	case HasHost:
		return &e.Host
	}
	return &e.Description
}

func (e *Event) setInteger(tag byte, v uint64) Fields {
	switch tag {
	case tagTime:
		e.Time = int64(v)
		return HasTime
	case tagTimeMicros:
		e.TimeMicros = int64(v)
		return HasTimeMicros
	}
	e.Sint64 = int64(v>>1) ^ -int64(v&1)
	return HasSint64
}

func (e *Event) setSingle(tag byte, bits uint32) Fields {
	if tag == tagTTL {
		e.TTL = math.Float32frombits(bits)
		return HasTTL
	}
	e.F = math.Float32frombits(bits)
	return HasF
}

// run is the part of Raw from the first of a repeated field's elements to
// behind the last, with whatever stands between them.
type run struct{ at, end uint32 }

func (r *run) extend(at, end int) {
	if r.end == 0 {
		r.at = uint32(at)
	}
	r.end = uint32(end)
}

// fail describes the problem that walk found at that byte. If it is within an
// attribute, it says in which.
func (e *Event) fail(at int, why problem) *Error {
	in, n := theEvent, 0
	for i := 0; i < at; {
		tag, value, next := nextField(e.Raw, i)
		if next < 0 {
			break
		}
		if tag == tagAttributes {
			if at < max(next, value+1) { // an empty one has its problem at its end
				in = fmt.Sprintf("attributes[%d]", n)
			}
			n++
		}
		i = next
	}
	return &Error{At: at, In: in, What: problemTexts[why]}
}
