package riemann

import "google.golang.org/protobuf/encoding/protowire"

// Record is an event to be encoded. A string stands on the wire if it is not
// empty or its bit is in Set, a number if its bit is in Set; tags and attributes
// always.
type Record struct {
	Set Fields

	Host, Service, State, Description string

	Time, TimeMicros int64 // seconds and microseconds of the Unix epoch
	Sint64           int64
	D                float64
	F                float32
	TTL              float32 // seconds

	Tags       []string
	Attributes []Pair
}

// Pair is an attribute of a Record.
type Pair struct {
	Key, Value string
}

// AppendEvent appends r's wire bytes, those of an Event without tag and length.
func (r *Record) AppendEvent(dst []byte) []byte {
	if r.Set&HasTime != 0 {
		dst = appendVarintField(dst, tagTime, uint64(r.Time))
	}
	dst = r.appendText(dst, HasState, tagState, r.State)
	dst = r.appendText(dst, HasService, tagService, r.Service)
	dst = r.appendText(dst, HasHost, tagHost, r.Host)
	dst = r.appendText(dst, HasDescription, tagDescription, r.Description)
	for _, t := range r.Tags {
		dst = appendBytesField(dst, tagTags, t)
	}
	if r.Set&HasTTL != 0 {
		dst = appendFixed32Field(dst, tagTTL, r.TTL)
	}
	for _, a := range r.Attributes {
		dst = appendAttribute(dst, a.Key, a.Value)
	}
	if r.Set&HasTimeMicros != 0 {
		dst = appendVarintField(dst, tagTimeMicros, uint64(r.TimeMicros))
	}
	return r.appendMetrics(dst)
}

func (r *Record) appendMetrics(dst []byte) []byte {
	if r.Set&HasSint64 != 0 {
		dst = appendVarintField(dst, tagSint64, zigzag(r.Sint64))
	}
	if r.Set&HasD != 0 {
		dst = appendFixed64Field(dst, tagD, r.D)
	}
	if r.Set&HasF != 0 {
		dst = appendFixed32Field(dst, tagF, r.F)
	}
	return dst
}

func (r *Record) appendText(dst []byte, bit Fields, tag byte, s string) []byte {
	if s == "" && r.Set&bit == 0 {
		return dst
	}
	return appendBytesField(dst, tag, s)
}

// AppendField appends r as a field of a Msg: tag, length and wire bytes.
func (r *Record) AppendField(dst []byte) []byte {
	dst = append(dst, tagEvents, 0)
	start := len(dst)
	dst = r.AppendEvent(dst)
	return widenLength(dst, start)
}

// widenLength writes the length of dst[start:] into the one byte before it,
// making room if it takes more.
func widenLength(dst []byte, start int) []byte {
	n := len(dst) - start
	if n < 0x80 {
		dst[start-1] = byte(n)
		return dst
	}
	more := sizeVarint(uint64(n)) - 1
	for range more {
		dst = append(dst, 0)
	}
	copy(dst[start+more:], dst[start:start+n])
	protowire.AppendVarint(dst[:start-1], uint64(n))
	return dst
}
