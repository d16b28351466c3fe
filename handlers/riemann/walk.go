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
// returns the place and the problem of what is wrong. It is the server's hottest
// loop, hence its length: the usual cases, tags and lengths of one byte and
// integers of up to eight, are decoded in line, and the sets stay in registers.
func (e *Event) walk(b []byte, want Fields) (at int, why problem) {
	*e = Event{Raw: b}
	var set, again Fields
	for i := 0; uint(i) < uint(len(b)); {
		at = i
		tag := uint64(b[i])
		i++
		if tag >= 0x80 {
			if tag, i = uvarint(b, at); i < 0 {
				return at, problem(-i)
			}
		}
		var bit Fields
		var s Span
		if tag&7 == wireBytes {
			n := 0
			if uint(i) < uint(len(b)) && b[i] < 0x80 {
				n = int(b[i])
				i++
			} else if n, i = longLength(b, i); i < 0 {
				return at, problem(-i)
			}
			if n > len(b)-i {
				return at, tooLong
			}
			s = Span{uint32(i), uint32(n)}
			i += n
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
			e.tags.extend(at, i)
		case tagAttributes:
			bit = HasAttributes
			e.attrs.extend(at, i)
			if off, why := checkAttribute(b[s.Off:i]); why != 0 {
				return int(s.Off) + off, why
			}
		case tagTime, tagTimeMicros, tagSint64:
			v, n := shortVarint(b, i)
			if i += n; n > 8 {
				if v, i = uvarint(b, i-n); i < 0 {
					return at, problem(-i)
				}
			}
			bit = e.setInteger(tag, v)
		case tagTTL, tagF:
			if len(b)-i < 4 {
				return at, truncated
			}
			bit = e.setSingle(tag, math.Float32frombits(binary.LittleEndian.Uint32(b[i:])))
			i += 4
		case tagD:
			if len(b)-i < 8 {
				return at, truncated
			}
			e.D, bit = math.Float64frombits(binary.LittleEndian.Uint64(b[i:])), HasD
			i += 8
		default:
			if i = skipUnknown(b, i, tag); i < 0 {
				return at, problem(-i)
			}
		}
		again |= set & bit
		if set |= bit; set&want == want {
			break
		}
	}
	e.Set, e.again = set, again&^(HasTags|HasAttributes)
	return 0, 0
}

func (e *Event) setInteger(tag, v uint64) Fields {
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

func (e *Event) setSingle(tag uint64, v float32) Fields {
	if tag == tagTTL {
		e.TTL = v
		return HasTTL
	}
	e.F = v
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
