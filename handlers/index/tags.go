package index

import (
	"bytes"
	"iter"
	"math"

	"google.golang.org/protobuf/encoding/protowire"

	"darboux/handlers/riemann"
)

const (
	tagsNumber = 7 // the field number of tags in an Event
	tagsKey    = tagsNumber<<3 | byte(protowire.BytesType)
)

// tagsSpanOf is where e's tags stand in its Raw; see spans.
func tagsSpanOf(e *riemann.Event) shortSpan {
	s := e.TagFields()
	if s.Len >= noTagsSpan || s.Off+s.Len > math.MaxUint16 {
		return shortSpan{len: noTagsSpan}
	}
	return shortSpan{uint16(s.Off), uint16(s.Len)}
}

// tagFields are bytes that have all tags of the entry, as protobuf fields, and
// perhaps others.
func (x *entry) tagFields() []byte {
	if x.kept&riemann.HasTags == 0 {
		return nil
	}
	s := x.spans[tagsSpan]
	if x.class == ownRun || s.len == noTagsSpan {
		return x.stored()
	}
	return x.stored()[s.off : int(s.off)+int(s.len)]
}

// sameTags reports whether w has the same bytes of tags as x. A false no costs time only.
func (x *entry) sameTags(w *write) bool {
	if (x.kept|w.kept)&riemann.HasTags == 0 {
		return true
	}
	s := w.spans[tagsSpan]
	if (x.kept&w.kept)&riemann.HasTags == 0 || x.class == ownRun || s.len == noTagsSpan || s.len != x.spans[tagsSpan].len {
		return false
	}
	return bytes.Equal(x.tagFields(), w.stored[s.off:int(s.off)+int(s.len)])
}

// nextTag is the first tag in fields, and what follows it; rest is nil behind the
// last.
func nextTag(fields []byte) (tag, rest []byte, ok bool) {
	for len(fields) > 0 {
		if len(fields) >= 2 && fields[0] == tagsKey && fields[1] < 0x80 {
			end := 2 + int(fields[1])
			return fields[2:end], fields[end:], true
		}
		num, typ, n := protowire.ConsumeTag(fields)
		if n < 0 {
			panic("BUG: a stored event is damaged")
		}
		fields = fields[n:]
		n = protowire.ConsumeFieldValue(num, typ, fields)
		if n < 0 {
			panic("BUG: a stored event is damaged")
		}
		value := fields[:n]
		fields = fields[n:]
		if num == tagsNumber && typ == protowire.BytesType {
			tag, _ = protowire.ConsumeBytes(value)
			return tag, fields, true
		}
	}
	return nil, nil, false
}

// tags are the entry's tags, with their places.
func (x *entry) tags() iter.Seq2[int, []byte] {
	return func(yield func(int, []byte) bool) {
		place := 0
		for tag, rest, ok := nextTag(x.tagFields()); ok && yield(place, tag); tag, rest, ok = nextTag(rest) {
			place++
		}
	}
}

// tagAt is the tag at that place among the entry's, which there must be.
func (x *entry) tagAt(place int) []byte {
	for i, tag := range x.tags() {
		if i == place {
			return tag
		}
	}
	panic("BUG: a witness lacks its tag")
}

// placeOfTag is the place of a tag among the entry's, which there must be.
func (x *entry) placeOfTag(text []byte) int {
	for i, tag := range x.tags() {
		if string(tag) == string(text) {
			return i
		}
	}
	panic("BUG: an entry lacks a tag whose posting it is in")
}

// crowded reports whether the entry's event has more than mostTags tags.
func (x *entry) crowded() bool {
	for i := range x.tags() {
		if i == mostTags {
			return true
		}
	}
	return false
}
