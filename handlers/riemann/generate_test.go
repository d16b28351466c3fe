package riemann

import (
	"math"

	"google.golang.org/protobuf/encoding/protowire"
	"pgregory.net/rapid"
)

// varint draws a varint's bytes, in up to three more than it needs.
func varint(v uint64) *rapid.Generator[[]byte] {
	return rapid.Custom(func(t *rapid.T) []byte {
		b := protowire.AppendVarint(nil, v)
		more := rapid.SampledFrom([]int{0, 0, 0, 0, 1, 3}).Draw(t, "more")
		for ; more > 0 && len(b) < 10; more-- {
			b[len(b)-1] |= 0x80
			b = append(b, 0)
		}
		return b
	})
}

// wireTag draws a tag: mostly one of an Event's fields, sometimes another number
// or another wire type.
func wireTag() *rapid.Generator[uint64] {
	return rapid.Custom(func(t *rapid.T) uint64 {
		tag := uint64(rapid.SampledFrom([]int{tagTime, tagState, tagService, tagHost, tagDescription, tagTags,
			tagTTL, tagAttributes, tagTimeMicros, tagSint64, tagD, tagF}).Draw(t, "tag"))
		switch rapid.IntRange(0, 11).Draw(t, "kind of tag") {
		case 0:
			return tag&^7 | uint64(rapid.IntRange(0, 3).Draw(t, "wire type"))
		case 1:
			return uint64(rapid.SampledFrom([]int{6, 11, 12, 16, 100, 536870911}).Draw(t, "number"))<<3 |
				uint64(rapid.IntRange(0, 3).Draw(t, "wire type"))
		}
		return tag
	})
}

// wireValue draws a value for the tag, of its wire type.
func wireValue(tag uint64) *rapid.Generator[[]byte] {
	return rapid.Custom(func(t *rapid.T) []byte {
		switch tag & 7 {
		case wireVarint:
			return varint(drawInteger(t)).Draw(t, "integer")
		case wireFixed32:
			v := rapid.SampledFrom([]float32{0, 1, 7, 60, -1, 0.1, float32(math.NaN()), float32(math.Inf(1)), 1e38}).Draw(t, "float")
			return protowire.AppendFixed32(nil, math.Float32bits(v))
		case wireFixed64:
			v := rapid.SampledFrom([]float64{0, 1, 7, -1, 0.1, math.NaN(), math.Inf(-1), 1e300}).Draw(t, "double")
			return protowire.AppendFixed64(nil, math.Float64bits(v))
		case wireGroup:
			b := wireField().Draw(t, "in the group")
			return protowire.AppendTag(b, protowire.Number(tag>>3), protowire.EndGroupType)
		}
		value := drawText(t)
		if tag == tagAttributes {
			value = wireAttribute().Draw(t, "attribute")
		}
		return append(varint(uint64(len(value))).Draw(t, "length"), value...)
	})
}

func drawInteger(t *rapid.T) uint64 {
	switch rapid.IntRange(0, 2).Draw(t, "integer's size") {
	case 0:
		return uint64(rapid.SampledFrom([]int{0, 1, 2, 14, 60, 1_700_000_000}).Draw(t, "small"))
	case 1:
		return uint64(rapid.SampledFrom([]int64{1_500_000, 1_700_000_000_123_456, -1, -1_500_000,
			math.MaxInt64, math.MinInt64}).Draw(t, "large"))
	}
	return rapid.Uint64().Draw(t, "any")
}

func drawText(t *rapid.T) []byte {
	if rapid.IntRange(0, 20).Draw(t, "long") == 0 {
		return make([]byte, rapid.IntRange(120, 300).Draw(t, "length"))
	}
	return []byte(rapid.SampledFrom([]string{"", "a", "host", "expired", "ok", "web 1", "\xff\x00", "é"}).Draw(t, "text"))
}

// wireAttribute draws an Attribute's bytes, with its fields in any order, some
// twice, others besides.
func wireAttribute() *rapid.Generator[[]byte] {
	return rapid.Custom(func(t *rapid.T) []byte {
		b := protowire.AppendString([]byte{tagKey}, string(drawText(t)))
		for range rapid.IntRange(0, 3).Draw(t, "more fields") {
			tag := byte(rapid.SampledFrom([]int{tagKey, tagValue, tagValue, 3<<3 | wireBytes}).Draw(t, "tag"))
			f := append([]byte{tag}, protowire.AppendBytes(nil, drawText(t))...)
			if rapid.Bool().Draw(t, "in front") {
				b = append(f, b...)
			} else {
				b = append(b, f...)
			}
		}
		return b
	})
}

// wireField draws one field's bytes.
func wireField() *rapid.Generator[[]byte] {
	return rapid.Custom(func(t *rapid.T) []byte {
		tag := wireTag().Draw(t, "tag")
		return append(varint(tag).Draw(t, "tag's bytes"), wireValue(tag).Draw(t, "value")...)
	})
}

// wireEvent draws the bytes of an Event that protobuf accepts: any fields in
// any order, any number of times.
func wireEvent() *rapid.Generator[[]byte] {
	return rapid.Custom(func(t *rapid.T) []byte {
		var b []byte
		for range rapid.IntRange(0, 20).Draw(t, "fields") {
			b = append(b, wireField().Draw(t, "field")...)
		}
		return b
	})
}

// wireMsg draws the bytes of a Msg that protobuf accepts.
func wireMsg() *rapid.Generator[[]byte] {
	return rapid.Custom(func(t *rapid.T) []byte {
		var b []byte
		for range rapid.IntRange(0, 6).Draw(t, "fields") {
			b = append(b, wireMsgField().Draw(t, "field")...)
		}
		return b
	})
}

func wireMsgField() *rapid.Generator[[]byte] {
	return rapid.Custom(func(t *rapid.T) []byte {
		tag := uint64(rapid.SampledFrom([]int{tagOK, tagError, tagStates, tagQuery, tagEvents, tagEvents}).Draw(t, "tag"))
		b := varint(tag).Draw(t, "tag's bytes")
		var value []byte
		switch tag {
		case tagOK:
			return append(b, varint(drawInteger(t)).Draw(t, "ok")...)
		case tagError:
			value = drawText(t)
		case tagQuery:
			for range rapid.IntRange(0, 2).Draw(t, "strings") {
				value = append(append(value, tagString), protowire.AppendBytes(nil, drawText(t))...)
			}
		case tagStates, tagEvents:
			value = wireEvent().Draw(t, "event")
		}
		return append(append(b, varint(uint64(len(value))).Draw(t, "length")...), value...)
	})
}
