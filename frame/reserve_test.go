package frame

import (
	"testing"

	"pgregory.net/rapid"
)

// Claims are served in the order of asking, never more is taken than there is, and
// whoever could be served does not wait.
func TestReserveModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const limit = 100
		r := NewReserve(limit)
		taken := 0
		var line, granted []*Claim
		served := func() {
			for len(line) > 0 && line[0].Granted() {
				taken += line[0].Bytes
				granted = append(granted, line[0])
				line = line[1:]
			}
		}
		t.Repeat(map[string]func(*rapid.T){
			"ask": func(t *rapid.T) {
				c := &Claim{Bytes: rapid.IntRange(1, limit).Draw(t, "bytes"), Call: func() {}}
				fits := len(line) == 0 && taken+c.Bytes <= limit
				if ok := r.Ask(c); ok != fits {
					t.Fatalf("ask of %d says %v with %d taken and %d in line", c.Bytes, ok, taken, len(line))
				}
				line = append(line, c)
				served()
			},
			"try": func(t *rapid.T) {
				n := rapid.IntRange(1, limit).Draw(t, "bytes")
				if ok := r.TryTake(n); ok != (len(line) == 0 && taken+n <= limit) {
					t.Fatalf("try of %d says %v with %d taken and %d in line", n, ok, taken, len(line))
				} else if ok {
					taken += n
					granted = append(granted, &Claim{Bytes: n})
				}
			},
			"release": func(t *rapid.T) {
				if len(granted) == 0 {
					t.Skip()
				}
				i := rapid.IntRange(0, len(granted)-1).Draw(t, "which")
				taken -= granted[i].Bytes
				r.Release(granted[i].Bytes)
				granted = append(granted[:i], granted[i+1:]...)
				served()
			},
			"withdraw": func(t *rapid.T) {
				if len(line) == 0 {
					t.Skip()
				}
				i := rapid.IntRange(0, len(line)-1).Draw(t, "which")
				if !r.Withdraw(line[i]) {
					t.Fatal("a claim in line could not be withdrawn")
				}
				line = append(line[:i], line[i+1:]...)
				served()
			},
			"": func(t *rapid.T) {
				s := r.Stats()
				want := 0
				for _, c := range line {
					want += c.Bytes
				}
				if got := r.Wanted(); got != max(0, want-(limit-taken)) {
					t.Fatalf("%d bytes are wanted; want %d of %d in line, with %d taken", got, max(0, want-(limit-taken)), want, taken)
				}
				if s.Taken != taken || s.Waiting != len(line) || taken > limit {
					t.Fatalf("stats %+v; want %d taken, %d waiting", s, taken, len(line))
				}
				if len(line) > 0 && taken+line[0].Bytes <= limit {
					t.Fatal("the first in line fits and waits")
				}
			},
		})
	})
}

func TestWithdrawAfterGrant(t *testing.T) {
	r := NewReserve(10)
	c := &Claim{Bytes: 10, Call: func() {}}
	if !r.Ask(c) || r.Withdraw(c) {
		t.Error("a granted claim was withdrawn from the line")
	}
}
