//go:build !race

package javare

import "testing"

// The race detector empties pools at random, so what counts memory runs without it.

func TestMatchAllocatesNothing(t *testing.T) {
	for _, pattern := range []string{`^disk[0-9]+$`, `(a|b)*c`, `(?m)^x$`, `[^a]+\Z`} {
		r, err := Compile(pattern)
		if err != nil {
			t.Fatal(err)
		}
		text := []byte("disk123\r\n")
		if n := testing.AllocsPerRun(100, func() { r.Match(text) }); n >= 1 {
			t.Errorf("%q: %v allocations a match", pattern, n)
		}
	}
}
