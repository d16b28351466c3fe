package workload

import (
	"encoding/binary"
	"fmt"
	"math"
	"strings"

	"google.golang.org/protobuf/encoding/protowire"
)

// firstMetric is the metric of a Source's first event; each further event's is
// one more. From here up to 2^41 the zigzag varint has six bytes, so a template
// can be patched without moving anything.
const firstMetric = 1 << 35

// fillMetric is the metric of the events of AppendAll, below all others.
const fillMetric = firstMetric - 1

const (
	sint64Bytes  = 6 // of a zigzag varint from 2^35 up to 2^42
	secondsBytes = 5 // of a varint from 2^28 up to 2^35: the years 1978 to 3058
	microsBytes  = 8 // of a varint from 2^49 up to 2^56: the years 1987 to 4253
)

// patches are the offsets in an encoded Event of what varies, of host and
// service the last tailBytes; 0 where a field is not set (no value stands at
// offset 0: a tag does).
type patches struct {
	host, service, seconds, micros, sint64, d, f int
}

// encodeEvent returns an Event with all of c's fields in the order of their
// numbers, as protobuf libraries write them, and where to patch it.
func encodeEvent(c *Config, host, service string) ([]byte, patches) {
	bare, _ := encodeWith(c, host, service, -1)
	return encodeWith(c, host, service, fillTo(c.EventSize-len(bare)))
}

// fillTo returns how long a description must be to take up room bytes with its
// tag and length, or as near below as can be; -1 for none.
func fillTo(room int) int {
	n := room - 2
	if n < 0 {
		return -1
	}
	for 1+protowire.SizeBytes(n) > room {
		n--
	}
	return n
}

func encodeWith(c *Config, host, service string, description int) (b []byte, at patches) {
	if c.Times == "seconds" || c.Times == "both" {
		b = protowire.AppendTag(b, 1, protowire.VarintType)
		b, at.seconds = append(b, make([]byte, secondsBytes)...), len(b)
	}
	b = appendString(b, 2, "ok")
	b = appendString(b, 3, service)
	at.service = len(b) - tailBytes
	b = appendString(b, 4, host)
	at.host = len(b) - tailBytes
	if description >= 0 {
		b = appendString(b, 5, filler(description))
	}
	for i := range c.Tags {
		b = appendString(b, 7, fmt.Sprintf("tag-%d", i))
	}
	if c.TTL > 0 {
		b = protowire.AppendTag(b, 8, protowire.Fixed32Type)
		b = protowire.AppendFixed32(b, math.Float32bits(float32(c.TTL.Seconds())))
	}
	for i := range c.Attributes {
		attribute := appendString(nil, 1, fmt.Sprintf("key-%d", i))
		attribute = appendString(attribute, 2, fmt.Sprintf("value of attribute %d", i))
		b = protowire.AppendTag(b, 9, protowire.BytesType)
		b = protowire.AppendBytes(b, attribute)
	}
	if c.Times == "micros" || c.Times == "both" {
		b = protowire.AppendTag(b, 10, protowire.VarintType)
		b, at.micros = append(b, make([]byte, microsBytes)...), len(b)
	}
	return appendMetric(b, c.Metric, at)
}

func appendMetric(b []byte, metric string, at patches) ([]byte, patches) {
	exact, float, _ := strings.Cut(metric, "+")
	switch exact {
	case "sint64":
		b = protowire.AppendTag(b, 13, protowire.VarintType)
		b, at.sint64 = append(b, make([]byte, sint64Bytes)...), len(b)
	case "d":
		b = protowire.AppendTag(b, 14, protowire.Fixed64Type)
		b, at.d = append(b, make([]byte, 8)...), len(b)
	}
	if exact == "f" || float == "f" {
		b = protowire.AppendTag(b, 15, protowire.Fixed32Type)
		b, at.f = append(b, make([]byte, 4)...), len(b)
	}
	return b, at
}

func appendString(b []byte, number protowire.Number, s string) []byte {
	return protowire.AppendString(protowire.AppendTag(b, number, protowire.BytesType), s)
}

// filler is n bytes of text.
func filler(n int) string {
	const text = "all is well here; "
	return strings.Repeat(text, n/len(text)+1)[:n]
}

// putVarint writes v into exactly len(dst) bytes.
func putVarint(dst []byte, v uint64) {
	last := len(dst) - 1
	for i := range last {
		dst[i] = byte(v) | 0x80
		v >>= 7
	}
	dst[last] = byte(v)
}

// frame puts the length in front of an encoded Msg.
func frame(msg []byte) []byte {
	return append(binary.BigEndian.AppendUint32(nil, uint32(len(msg))), msg...)
}

// Query returns the frame that asks for text.
func Query(text string) []byte {
	return frame(protowire.AppendBytes(protowire.AppendTag(nil, 5, protowire.BytesType), appendString(nil, 1, text)))
}
