package query

import (
	"math"
	"math/big"

	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"

	"darboux/handlers/riemann/pb"
)

// The generators draw from small pools, so that queries and events meet often.

var (
	somePieces = []string{"", "a", "b", "disk", "foo", "%", "\n", "\r", "\r\n", "\u0085", "\u2028", " ", "é", "日", "\"", "\\", "x=", "1"}
	someNames  = []string{"host", "service", "state", "description", "metric", "time", "ttl", "tags", "region", "a.b", "x:y", "-", "+1", "nilx", "née", "time_micros", "empty"}
	someInts   = []int64{0, 1, -1, 60, 100, 1000, 1 << 53, 1<<53 + 1, math.MaxInt64, math.MinInt64}
	someFloats = []float64{0, math.Copysign(0, -1), 1, 0.1, float64(float32(0.1)), 1.5, 60, 100, 1000, 1 << 53, 1 << 63, 1e308, 5e-324, math.NaN(), math.Inf(1), math.Inf(-1)}
	somePats   = []string{"", "^disk", "a|b", "foo$", "^.$", `\s`, `(?i)A`, `[^a]+\Z`, `(?m)^a$`, `\d+`}
)

func anyText() *rapid.Generator[string] {
	return rapid.Custom(func(t *rapid.T) string {
		s := ""
		for range rapid.IntRange(0, 3).Draw(t, "pieces") {
			s += rapid.SampledFrom(somePieces).Draw(t, "piece")
		}
		return s
	})
}

func anyField() *rapid.Generator[value] {
	return rapid.Custom(func(t *rapid.T) value {
		return value{kind: isField, text: rapid.SampledFrom(someNames).Draw(t, "name")}
	})
}

func anyNumber() *rapid.Generator[value] {
	return rapid.Custom(func(t *rapid.T) value {
		switch rapid.IntRange(0, 4).Draw(t, "number") {
		case 0:
			digits := rapid.StringMatching(`-?[1-9][0-9]{19,30}`).Draw(t, "digits")
			n, _ := new(big.Int).SetString(digits, 10)
			return value{kind: isBig, big: n}
		case 1, 2:
			return value{kind: isInteger, integer: rapid.SampledFrom(someInts).Draw(t, "int")}
		}
		return value{kind: isFloat, float: rapid.SampledFrom(someFloats).Draw(t, "float")}
	})
}

func anyValue() *rapid.Generator[value] {
	return rapid.Custom(func(t *rapid.T) value {
		switch rapid.IntRange(0, 7).Draw(t, "value") {
		case 0:
			return value{kind: isNil}
		case 1:
			return value{kind: isTruth, truth: rapid.Bool().Draw(t, "truth")}
		case 2:
			return value{kind: isText, text: anyText().Draw(t, "text")}
		case 3:
			return anyNumber().Draw(t, "number")
		}
		return anyField().Draw(t, "field")
	})
}

func anyTerm() *rapid.Generator[predicate] {
	return rapid.Custom(func(t *rapid.T) predicate {
		left := anyValue().Draw(t, "left")
		switch rapid.IntRange(0, 6).Draw(t, "term") {
		case 0:
			return present{left}
		case 1:
			return tagged{anyText().Draw(t, "tag")}
		case 2:
			return like{left, anyText().Draw(t, "pattern")}
		case 3:
			pattern := rapid.SampledFrom(somePats).Draw(t, "regexp")
			return match{left, pattern, mustCompile(pattern)}
		case 4:
			op := rapid.SampledFrom([]operator{less, lessEqual, greater, greaterEqual}).Draw(t, "op")
			return compare{op, left, anyNumber().Draw(t, "right")}
		}
		op := rapid.SampledFrom([]operator{equal, notEqual}).Draw(t, "op")
		return compare{op, left, anyValue().Draw(t, "right")}
	})
}

// anyPredicate draws a tree of at most that many levels.
func anyPredicate(levels int) *rapid.Generator[predicate] {
	return rapid.Custom(func(t *rapid.T) predicate {
		kind := rapid.IntRange(0, 5).Draw(t, "kind")
		if levels == 0 || kind > 2 {
			return anyTerm().Draw(t, "term")
		}
		if kind == 0 {
			return not{anyPredicate(levels-1).Draw(t, "term")}
		}
		terms := rapid.SliceOfN(anyPredicate(levels-1), 2, 4).Draw(t, "terms")
		if kind == 1 {
			return and{terms}
		}
		return or{terms}
	})
}

func anyEvent() *rapid.Generator[*pb.Event] {
	return rapid.Custom(func(t *rapid.T) *pb.Event {
		maybe := func(name string) *string {
			if rapid.Bool().Draw(t, name) {
				return proto.String(anyText().Draw(t, name))
			}
			return nil
		}
		e := &pb.Event{Host: maybe("host"), Service: maybe("service"), State: maybe("state"), Description: maybe("description")}
		if rapid.Bool().Draw(t, "time") {
			e.Time = proto.Int64(rapid.SampledFrom(someInts).Draw(t, "time"))
		}
		if rapid.Bool().Draw(t, "micros") {
			e.TimeMicros = proto.Int64(rapid.SampledFrom(someInts).Draw(t, "micros"))
		}
		if rapid.Bool().Draw(t, "ttl") {
			e.Ttl = proto.Float32(float32(rapid.SampledFrom(someFloats).Draw(t, "ttl")))
		}
		if rapid.Bool().Draw(t, "sint64") {
			e.MetricSint64 = proto.Int64(rapid.SampledFrom(someInts).Draw(t, "sint64"))
		}
		if rapid.Bool().Draw(t, "d") {
			e.MetricD = proto.Float64(rapid.SampledFrom(someFloats).Draw(t, "d"))
		}
		if rapid.Bool().Draw(t, "f") {
			e.MetricF = proto.Float32(float32(rapid.SampledFrom(someFloats).Draw(t, "f")))
		}
		e.Tags = rapid.SliceOfN(anyText(), 0, 3).Draw(t, "tags")
		for range rapid.IntRange(0, 3).Draw(t, "attributes") {
			e.Attributes = append(e.Attributes, &pb.Attribute{
				Key:   proto.String(rapid.SampledFrom(someNames).Draw(t, "key")),
				Value: maybe("value"),
			})
		}
		return e
	})
}
