package riemann

import (
	"math"

	"google.golang.org/protobuf/encoding/protowire"
)

// maxFieldNumber is protobuf's largest field number.
const maxFieldNumber = uint64(protowire.MaxValidNumber)

// uvarint decodes the varint at b[i:] as protobuf does (at most ten bytes, the
// tenth at most 1) and returns the index behind it, or a negative problem.
func uvarint(b []byte, i int) (v uint64, next int) {
	for shift := uint(0); shift < 63; shift += 7 {
		if uint(i) >= uint(len(b)) {
			return 0, -int(truncated)
		}
		c := b[i]
		i++
		v |= uint64(c&0x7f) << shift
		if c < 0x80 {
			return v, i
		}
	}
	if uint(i) >= uint(len(b)) {
		return 0, -int(truncated)
	}
	if b[i] > 1 {
		return 0, -int(overlong)
	}
	return v | uint64(b[i])<<63, i + 1
}

// skip returns the index behind the value at b[i:] of a field with this tag
// that nobody asked for, or a negative problem. Groups nest as deep as protobuf
// allows.
func skip(b []byte, i int, tag uint64) int {
	if num := tag >> 3; num == 0 || num > maxFieldNumber {
		return -int(badNumber)
	}
	if tag&7 == wireEnd {
		return -int(strayEnd)
	}
	n := protowire.ConsumeFieldValue(protowire.Number(tag>>3), protowire.Type(tag&7), b[i:])
	if n >= 0 {
		return i + n
	}
	switch tag & 7 {
	case wireGroup:
		return -int(badGroup)
	case wireVarint, wireBytes:
		if _, next := uvarint(b, i); next < 0 {
			return next
		}
		return -int(tooLong)
	case wireFixed32, wireFixed64:
		return -int(truncated)
	}
	return -int(badWireType)
}

// nextField decodes the field at b[i:], whatever it is, and returns its tag,
// where its value begins (behind the length, if it has one) and the index
// behind it, or a negative problem.
func nextField(b []byte, i int) (tag uint64, value, next int) {
	tag, value = uvarint(b, i)
	if value < 0 {
		return 0, i, value
	}
	next = skip(b, value, tag)
	if tag&7 == wireBytes && next >= 0 {
		_, value = uvarint(b, value)
	}
	return tag, value, next
}

func sizeVarint(v uint64) int { return protowire.SizeVarint(v) }

// sizeField is the size of a length-delimited field of n bytes whose tag takes
// one byte.
func sizeField(n int) int { return 1 + sizeVarint(uint64(n)) + n }

func appendVarintField(dst []byte, tag byte, v uint64) []byte {
	return protowire.AppendVarint(append(dst, tag), v)
}

func appendFixed32Field(dst []byte, tag byte, v float32) []byte {
	return protowire.AppendFixed32(append(dst, tag), math.Float32bits(v))
}

func appendFixed64Field(dst []byte, tag byte, v float64) []byte {
	return protowire.AppendFixed64(append(dst, tag), math.Float64bits(v))
}

func appendBytesField[T []byte | string](dst []byte, tag byte, v T) []byte {
	return append(protowire.AppendVarint(append(dst, tag), uint64(len(v))), v...)
}
