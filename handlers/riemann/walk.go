package riemann

import (
	"encoding/binary"
	"fmt"
	"math"
)

// Parse makes e the view of b, the wire bytes of one Event. On an error (an
// *Error) e is not usable.
func (e *Event) Parse(b []byte) error {
	if at, why := e.walk(b); why != 0 {
		return e.fail(at, why)
	}
	return nil
}

// walk is Parse with the place and the problem of what is wrong instead of an
// error. It is the server's hottest loop: one-byte tags and lengths, the usual
// ones, are decoded in line.
func (e *Event) walk(b []byte) (at int, why problem) {
	*e = Event{Raw: b}
	if uint64(len(b)) > math.MaxUint32 {
		return 0, tooLarge
	}
	for i := 0; i < len(b); {
		at = i
		tag := uint64(b[i])
		i++
		if tag >= 0x80 {
			if tag, i = uvarint(b, at); i < 0 {
				return at, problem(-i)
			}
		}
		switch tag {
		case tagState, tagService, tagHost, tagDescription, tagTags, tagAttributes:
			s, next := span(b, i)
			if next < 0 {
				return at, problem(-next)
			}
			i = next
			if p, bad := e.setBytes(tag, s, at); p != 0 {
				return bad, p
			}
		case tagTime, tagTimeMicros, tagSint64:
			v, next := uvarint(b, i)
			if next < 0 {
				return at, problem(-next)
			}
			i = next
			e.setVarint(tag, v)
		case tagTTL, tagF:
			if len(b)-i < 4 {
				return at, truncated
			}
			e.setFloat(tag, math.Float32frombits(binary.LittleEndian.Uint32(b[i:])))
			i += 4
		case tagD:
			if len(b)-i < 8 {
				return at, truncated
			}
			e.D = math.Float64frombits(binary.LittleEndian.Uint64(b[i:]))
			e.note(HasD)
			i += 8
		default:
			if i = skip(b, i, tag); i < 0 {
				return at, problem(-i)
			}
		}
	}
	return 0, 0
}

// span decodes the length at b[i:] and returns the piece behind it and the
// index behind that, or a negative problem.
func span(b []byte, i int) (s Span, next int) {
	n, i := uvarint(b, i)
	if i < 0 {
		return s, i
	}
	if n > uint64(len(b)-i) {
		return s, -int(tooLong)
	}
	return Span{uint32(i), uint32(n)}, i + int(n)
}

func (e *Event) note(bit Fields) {
	e.again |= e.Set & bit
	e.Set |= bit
}

func (e *Event) setBytes(tag uint64, s Span, at int) (why problem, bad int) {
	switch tag {
	case tagState:
		e.State = s
		e.note(HasState)
	case tagService:
		e.Service = s
		e.note(HasService)
	case tagHost:
		e.Host = s
		e.note(HasHost)
	case tagDescription:
		e.Description = s
		e.note(HasDescription)
	case tagTags:
		if e.Set&HasTags == 0 {
			e.tagsAt = uint32(at)
		}
		e.Set |= HasTags
		e.tagsEnd = s.Off + s.Len
	case tagAttributes:
		if e.Set&HasAttributes == 0 {
			e.attrsAt = uint32(at)
		}
		e.Set |= HasAttributes
		e.attrsEnd = s.Off + s.Len
		var a Attribute
		if off, why := a.walk(s.of(e.Raw)); why != 0 {
			return why, int(s.Off) + off
		}
	}
	return 0, 0
}

func (e *Event) setVarint(tag, v uint64) {
	switch tag {
	case tagTime:
		e.Time = int64(v)
		e.note(HasTime)
	case tagTimeMicros:
		e.TimeMicros = int64(v)
		e.note(HasTimeMicros)
	case tagSint64:
		e.Sint64 = int64(v>>1) ^ -int64(v&1)
		e.note(HasSint64)
	}
}

func (e *Event) setFloat(tag uint64, v float32) {
	if tag == tagTTL {
		e.TTL = v
		e.note(HasTTL)
		return
	}
	e.F = v
	e.note(HasF)
}

// fail describes the problem that walk found at that byte. If it is within an
// attribute, it says in which.
func (e *Event) fail(at int, why problem) *Error {
	in, n := "the event", 0
	for i := 0; i < at; {
		tag, _, next := nextField(e.Raw, i)
		if next < 0 {
			break
		}
		if tag == tagAttributes {
			if at < next {
				in = fmt.Sprintf("attributes[%d]", n)
			}
			n++
		}
		i = next
	}
	return &Error{At: at, In: in, What: problemTexts[why]}
}
