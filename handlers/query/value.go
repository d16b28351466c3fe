package query

import (
	"errors"
	"math"
	"math/big"
	"strconv"
	"strings"
)

// value is one side of a comparison: a field or a constant.
type value struct {
	kind    valueKind
	text    string   // the name of a field, or a string
	integer int64    // an integer
	big     *big.Int // an integer beyond int64
	float   float64
	truth   bool
}

type valueKind byte

const (
	isField valueKind = iota
	isText
	isInteger
	isBig
	isFloat
	isTruth
	isNil
)

func (v value) constant() bool { return v.kind != isField }

// number reports whether v is a constant that can be ordered.
func (v value) number() bool { return v.kind == isInteger || v.kind == isBig || v.kind == isFloat }

// truthy is what a constant comes to where a predicate is wanted.
func (v value) truthy() bool { return v.kind != isNil && (v.kind != isTruth || v.truth) }

// asFloat is a number as a double, which is how numbers of two kinds are ordered.
func (v value) asFloat() float64 {
	switch v.kind {
	case isInteger:
		return float64(v.integer)
	case isBig:
		f, _ := new(big.Float).SetInt(v.big).Float64()
		return f
	}
	return v.float
}

// equals compares two constants. Numbers of two kinds are never equal.
func (v value) equals(w value) bool {
	if v.kind != w.kind {
		return false
	}
	switch v.kind {
	case isText:
		return v.text == w.text
	case isInteger:
		return v.integer == w.integer
	case isBig:
		return v.big.Cmp(w.big) == 0
	case isFloat:
		return v.float == w.float
	case isTruth:
		return v.truth == w.truth
	}
	return true
}

// ordered reports whether v op w holds for two constants.
func (v value) ordered(op operator, w value) bool {
	switch {
	case !v.number() || !w.number():
		return false
	case v.kind == isFloat || w.kind == isFloat:
		return holds(op, v.asFloat(), w.asFloat())
	}
	return op.of(v.asBig().Cmp(w.asBig()))
}

func (v value) asBig() *big.Int {
	if v.kind == isBig {
		return v.big
	}
	return big.NewInt(v.integer)
}

// constantOf reads a number's token.
func constantOf(t token) value {
	switch t.kind {
	case tokenInteger:
		n, err := strconv.ParseInt(t.text, 10, 64)
		if err != nil {
			panic(&Error{t.at, "an integer between -9223372036854775808 and 9223372036854775807 (or N behind it)", quote(t.text)})
		}
		return value{kind: isInteger, integer: n}
	case tokenBig:
		return integerOf(t.text[:len(t.text)-1])
	}
	return value{kind: isFloat, float: floatOf(t.text)}
}

// floatOf reads a float. As in Java, one that is too large is infinite, one too
// small 0, and -NaN is NaN.
func floatOf(text string) float64 {
	f, err := strconv.ParseFloat(strings.Replace(text, "-NaN", "NaN", 1), 64)
	if err != nil && !errors.Is(err, strconv.ErrRange) {
		panic("BUG: a number's token that is no number: " + text)
	}
	return f
}

// integerOf reads an integer of any size.
func integerOf(digits string) value {
	if n, err := strconv.ParseInt(digits, 10, 64); err == nil {
		return value{kind: isInteger, integer: n}
	}
	n, ok := new(big.Int).SetString(digits, 10)
	if !ok {
		panic("BUG: a number's token that is no number: " + digits)
	}
	return value{kind: isBig, big: n}
}

func (v value) String() string {
	switch v.kind {
	case isField:
		return v.text
	case isText:
		return string(appendQuoted(nil, v.text))
	case isInteger:
		return strconv.FormatInt(v.integer, 10)
	case isBig:
		return v.big.String() + "N"
	case isFloat:
		return formatFloat(v.float)
	case isTruth:
		return strconv.FormatBool(v.truth)
	}
	return "nil"
}

// formatFloat writes a float as the lexer reads it: no plus sign, and a point or
// an exponent always.
func formatFloat(f float64) string {
	switch {
	case f != f:
		return "NaN"
	case math.IsInf(f, 1):
		return "Infinity"
	case math.IsInf(f, -1):
		return "-Infinity"
	}
	s := strings.Replace(strconv.FormatFloat(f, 'g', -1, 64), "e+", "e", 1)
	if !strings.ContainsAny(s, ".e") {
		s += ".0"
	}
	return s
}
