package web

import (
	"math"
	"math/big"
	"testing"

	"pgregory.net/rapid"

	"darboux/handlers/riemann"
)

// TestNumbersCompareExactly compares numbers with what fractions say, of any size: above 2^53
// a float has not the room for every integer.
func TestNumbersCompareExactly(t *testing.T) {
	near := rapid.Map(rapid.Int64Range(-3, 3), func(n int64) int64 { return 1<<53 + n })
	ints := rapid.OneOf(rapid.Int64(), near, rapid.Just[int64](math.MaxInt64), rapid.Just[int64](math.MinInt64))
	number := rapid.Custom(func(t *rapid.T) riemann.Number {
		i := ints.Draw(t, "int")
		switch rapid.IntRange(0, 2).Draw(t, "kind") {
		case 0:
			return riemann.Number{Kind: riemann.Integer, Int: i}
		case 1:
			return riemann.Number{Kind: riemann.Float, Float: float64(i)}
		}
		return riemann.Number{Kind: riemann.Float, Float: rapid.Float64().Draw(t, "float")}
	})
	rapid.Check(t, func(t *rapid.T) {
		a, b := number.Draw(t, "a"), number.Draw(t, "b")
		if got, want := compareNumbers(a, b), fraction(a).Cmp(fraction(b)); got != want {
			t.Fatalf("%+v to %+v is %d, want %d", a, b, got, want)
		}
	})
}

func fraction(n riemann.Number) *big.Rat {
	if n.Kind == riemann.Integer {
		return new(big.Rat).SetInt64(n.Int)
	}
	return new(big.Rat).SetFloat64(n.Float)
}

func TestInfinitiesStandAtTheEnds(t *testing.T) {
	for _, i := range []int64{math.MinInt64, 0, math.MaxInt64} {
		whole := riemann.Number{Kind: riemann.Integer, Int: i}
		for _, sign := range []int{-1, 1} {
			if got := compareNumbers(riemann.Number{Kind: riemann.Float, Float: math.Inf(sign)}, whole); got != sign {
				t.Errorf("the infinity of sign %d to %d is %d", sign, i, got)
			}
		}
	}
}
