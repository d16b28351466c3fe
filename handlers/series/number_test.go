package series

import (
	"math"
	"strconv"
	"testing"

	"pgregory.net/rapid"
)

// A short number is the same float as the standard library's.
func TestNumbersAreStrconvs(t *testing.T) {
	number := rapid.OneOf(
		rapid.StringMatching(`-?[0-9]{0,18}(\.[0-9]{0,18})?`),
		rapid.StringMatching(`[-+]?[0-9]{1,3}\.?[0-9]{0,3}([eE][-+]?[0-9]{1,3})?`),
		rapid.StringMatching(`[-+.eE0-9]{0,6}`),
	)
	rapid.Check(t, func(t *rapid.T) {
		text := number.Draw(t, "number")
		want, err := strconv.ParseFloat(text, 64)
		wantOK := err == nil || math.IsInf(want, 0)
		if v, ok := parse([]byte(text)); ok != wantOK || ok && math.Float64bits(v) != math.Float64bits(want) {
			t.Fatalf("%q: got %v, %v; want %v, %v", text, v, ok, want, err)
		}
	})
}

func TestShortNumbersAreShort(t *testing.T) {
	for text, want := range map[string]bool{
		"1796036977": true, "8.73583984375": true, "-0.5": true, "-0": true, "5.": true, ".5": true, "123456789012345": true,
		"1234567890123456": false, "": false, "-": false, ".": false, "-.": false, "1.2.3": false, "+1": false, "1e3": false, "0x1": false,
	} {
		if _, ok := parseShort([]byte(text)); ok != want {
			t.Errorf("%q is short: %v; want %v", text, ok, want)
		}
	}
}
