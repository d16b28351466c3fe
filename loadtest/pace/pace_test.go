package pace

import (
	"math"
	"testing"
	"time"
)

func TestConstant(t *testing.T) {
	for _, test := range []struct {
		perSecond float64
		n         int // request number, from 0
		want      time.Duration
	}{
		{1, 0, 0},
		{1, 1, time.Second},
		{1, 3600, time.Hour},
		{1000, 1, time.Millisecond},
		{1000, 999, 999 * time.Millisecond},
		{3, 1, 333333333},
		{3, 2, 666666667},
		{3, 3_000_000, 1_000_000 * time.Second},
		{0.5, 2, 4 * time.Second},
		{2e6, 1, 500},
		{1e9, 1_000_000, time.Millisecond},
		{7e9, 7_000_000, time.Millisecond},
	} {
		s := Constant(test.perSecond)
		for range test.n {
			s.Next()
		}
		if got := s.Next(); got != test.want {
			t.Errorf("%g/s: request %d is due at %v, want %v", test.perSecond, test.n, got, test.want)
		}
	}
}

// A Poisson process of rate r has gaps with mean and standard deviation 1/r.
func TestPoisson(t *testing.T) {
	for _, perSecond := range []float64{0.1, 1000, 5e6} {
		s := Poisson(perSecond, 1)
		const n = 200_000
		var sum, squares float64
		last := time.Duration(0)
		for range n {
			at := s.Next()
			if at < last {
				t.Fatalf("%g/s: a time of %v follows %v", perSecond, at, last)
			}
			gap := float64(at-last) / 1e9 * perSecond
			sum, squares, last = sum+gap, squares+gap*gap, at
		}
		mean := sum / n
		deviation := math.Sqrt(squares/n - mean*mean)
		if math.Abs(mean-1) > 0.01 || math.Abs(deviation-1) > 0.02 {
			t.Errorf("%g/s: gaps have mean %.4f and deviation %.4f of 1/r, want 1 and 1", perSecond, mean, deviation)
		}
	}
}

func TestSeedRepeatsAPoissonSchedule(t *testing.T) {
	a, b, other := Poisson(100, 7), Poisson(100, 7), Poisson(100, 8)
	differ := 0
	for range 100 {
		x := a.Next()
		if x != b.Next() {
			t.Fatal("the same seed gives other times")
		}
		if x != other.Next() {
			differ++
		}
	}
	if differ < 90 {
		t.Errorf("another seed gives %d of 100 other times", differ)
	}
}

func TestCounter(t *testing.T) {
	c := NewCounter(Constant(10))
	for _, test := range []struct {
		now  time.Duration
		want int64
	}{
		{-1, 0}, {0, 1}, {0, 1}, {99 * time.Millisecond, 1}, {100 * time.Millisecond, 2}, {time.Second, 11}, {time.Minute, 601},
	} {
		if got := c.Due(test.now); got != test.want {
			t.Errorf("%d are due at %v, want %d", got, test.now, test.want)
		}
	}
}

func TestImpossibleRatesPanic(t *testing.T) {
	for _, rate := range []float64{0, -1, math.NaN(), math.Inf(1)} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("a rate of %g makes a schedule", rate)
				}
			}()
			Constant(rate)
		}()
	}
}

func BenchmarkNext(b *testing.B) {
	for name, s := range map[string]*Schedule{"constant": Constant(1e6), "poisson": Poisson(1e6, 1)} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				s.Next()
			}
		})
	}
}
