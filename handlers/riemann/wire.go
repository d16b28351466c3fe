package riemann

import (
	"encoding/binary"
	"math"
	"math/bits"

	"google.golang.org/protobuf/encoding/protowire"
)

// maxFieldNumber is protobuf's largest field number.
const maxFieldNumber = uint64(protowire.MaxValidNumber)

// uvarint decodes the varint at b[i:] as protobuf does (at most ten bytes, the
// tenth at most 1) and returns the index behind it, or a negative problem. It is
// not inlined, so that the loops which call it in rare cases keep their registers.
//
//go:noinline
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

// shortVarint decodes the varint at b[i:] if eight bytes stand there and it
// takes no more: it finds the last byte among the eight and joins the groups of
// seven bits at once. n is its length; over 8 means that uvarint must do it.
func shortVarint(b []byte, i int) (v uint64, n int) {
	if len(b)-i < 8 {
		return 0, 9
	}
	w := binary.LittleEndian.Uint64(b[i:])
	ends := ^w & 0x8080808080808080
	w &= (ends ^ (ends - 1)) & 0x7f7f7f7f7f7f7f7f
	w = w&0x007f007f007f007f | w&0x7f007f007f007f00>>1
	w = w&0x00003fff00003fff | w&0x3fff00003fff0000>>2
	return w&0x000000000fffffff | w&0x0fffffff00000000>>4, 1 + bits.TrailingZeros64(ends)>>3
}

// longLength decodes a length at b[i:] and returns it, at most what stands
// behind it, and the index there, or a negative problem.
func longLength(b []byte, i int) (n, next int) {
	v, i := uvarint(b, i)
	if i < 0 {
		return 0, i
	}
	if v > uint64(len(b)-i) {
		return 0, -int(tooLong)
	}
	return int(v), i
}

// skipUnknown is skip for a field whose value, if it has a length, is behind
// b[:i] already.
func skipUnknown(b []byte, i int, tag uint64) int {
	if tag&7 != wireBytes {
		return skip(b, i, tag)
	}
	if num := tag >> 3; num == 0 || num > maxFieldNumber {
		return -int(badNumber)
	}
	return i
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
	return -int(whyNot(b, i, tag))
}

// whyNot is why the value at b[i:] of a field with this tag can't be skipped.
func whyNot(b []byte, i int, tag uint64) problem {
	switch tag & 7 {
	case wireGroup:
		return badGroup
	case wireVarint, wireBytes:
		if _, next := uvarint(b, i); next < 0 {
			return problem(-next)
		}
		return tooLong
	case wireFixed32, wireFixed64:
		return truncated
	}
	return badWireType
}

// nextField decodes the field at b[i:], whatever it is, and returns its tag,
// where its value begins (behind the length, if it has one) and the index
// behind it, or a negative problem.
func nextField(b []byte, i int) (tag uint64, value, next int) {
	if uint(i) < uint(len(b)) && b[i] < 0x80 {
		tag, value = uint64(b[i]), i+1
	} else if tag, value = uvarint(b, i); value < 0 {
		return 0, i, value
	}
	if tag&7 != wireBytes {
		return tag, value, skip(b, value, tag)
	}
	n := 0
	switch {
	case uint(value) < uint(len(b)) && b[value] < 0x80:
		n = int(b[value])
		value++
	case uint(value+1) < uint(len(b)) && b[value+1] < 0x80:
		n = int(b[value]&0x7f) | int(b[value+1])<<7
		value += 2
	default:
		if n, value = longLength(b, value); value < 0 {
			return tag, i, value
		}
	}
	if n > len(b)-value {
		return tag, i, -int(tooLong)
	}
	return tag, value, skipUnknown(b, value+n, tag)
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
	return append(appendLength(dst, tag, len(v)), v...)
}

// appendLength appends a tag and the length of what is to follow.
func appendLength(dst []byte, tag byte, n int) []byte {
	if n < 0x80 {
		return append(dst, tag, byte(n))
	}
	return protowire.AppendVarint(append(dst, tag), uint64(n))
}
