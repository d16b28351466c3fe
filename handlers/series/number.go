package series

import (
	"bytes"
	"math"
	"strconv"
)

// micros is the number of microseconds in a second.
const micros = 1_000_000

// furthest bounds times, in seconds of the Unix epoch: a number beyond it is in another
// unit. The point of a time so far away, such as one in microseconds, would never expire.
const furthest = math.MaxUint32

// ParseValue takes the point's value from its decimal form.
func (p *Point) ParseValue(b []byte) Problem {
	v, ok := parse(b)
	switch {
	case !ok && !isWord(b):
		return BadValue
	case !ok || math.IsInf(v, 0):
		return NotFinite
	}
	p.Value = v
	return None
}

// ParseTime takes the point's time from its form in seconds of the Unix epoch, or, if it
// takes more than 32 bits, in milliseconds. An empty one, N and -1 mean the time of receipt.
func (p *Point) ParseTime(b []byte) Problem {
	p.Timed = false
	if len(b) == 0 || string(b) == "N" {
		return None
	}
	v, ok := parse(b)
	at := math.Round(v * micros)
	if v > furthest { // milliseconds
		at = math.Round(v * micros / 1000)
	}
	if !ok || math.Abs(at) > furthest*micros {
		return BadTime
	}
	if v != -1 {
		p.Timed, p.Micros = true, int64(at)
	}
	return None
}

// parse reads a decimal number, which may be too large for a float: then it is
// infinite.
func parse(b []byte) (v float64, ok bool) {
	if v, ok := parseShort(b); ok {
		return v, true
	}
	for _, c := range b {
		if c-'0' > 9 && c != '.' && c != '-' && c != '+' && c != 'e' && c != 'E' {
			return 0, false // what else a Go number may hold, no sender means
		}
	}
	v, err := strconv.ParseFloat(string(b), 64)
	return v, err == nil || math.IsInf(v, 0)
}

// shortDigits is how many digits a number may have so that its digits and the power of
// ten that they are divided by are floats without rounding: then the quotient is the
// float next to the number.
const shortDigits = 15

var powers = [shortDigits + 1]float64{1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15}

// parseShort is parse for the numbers that nearly all are: an optional minus, a few
// digits, perhaps a point among them. It takes a quarter of ParseFloat's time.
func parseShort(b []byte) (v float64, ok bool) {
	digits := b
	if len(b) > 0 && b[0] == '-' {
		digits = b[1:]
	}
	if len(digits) == 0 || len(digits) > shortDigits {
		return 0, false
	}
	n, point := uint64(0), -1
	for i, c := range digits {
		switch {
		case c-'0' <= 9:
			n = n*10 + uint64(c-'0')
		case c == '.' && point < 0 && len(digits) > 1:
			point = i
		default:
			return 0, false
		}
	}
	v = float64(n)
	if point >= 0 {
		v /= powers[len(digits)-1-point]
	}
	if len(digits) < len(b) {
		v = -v
	}
	return v, true
}

// isWord reports whether b is one of the words by which C, Java and Python write
// values that are not finite.
func isWord(b []byte) bool {
	if len(b) > 0 && (b[0] == '-' || b[0] == '+') {
		b = b[1:]
	}
	for _, word := range [...]string{"nan", "inf", "infinity"} {
		if bytes.EqualFold(b, []byte(word)) {
			return true
		}
	}
	return false
}
