package frame

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// Claims are served in their order, the addresses in turns; never more is taken than there
// is, and whoever's turn it is doesn't wait if there is room.
func TestReserveModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const limit = 100
		r := NewReserve(limit)
		taken, calls := 0, 0
		var line, granted []*Claim // line is in the order of asking
		var turns []string         // the addresses in line
		leave := func(c *Claim) {
			line = slices.DeleteFunc(line, func(other *Claim) bool { return other == c })
			if !slices.ContainsFunc(line, func(other *Claim) bool { return other.Address == c.Address }) {
				turns = slices.DeleteFunc(turns, func(address string) bool { return address == c.Address })
			}
		}
		serve := func() { // what must have happened
			for len(turns) > 0 {
				next := line[slices.IndexFunc(line, func(c *Claim) bool { return c.Address == turns[0] })]
				if taken+next.Bytes > limit {
					return
				}
				taken, calls = taken+next.Bytes, calls-1
				granted = append(granted, next)
				turns = append(turns[1:], turns[0])
				leave(next)
			}
		}
		t.Repeat(map[string]func(*rapid.T){
			"ask": func(t *rapid.T) {
				c := &Claim{Bytes: rapid.IntRange(1, limit).Draw(t, "bytes"), Address: rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "address"), Call: func() { calls++ }}
				fits := len(line) == 0 && taken+c.Bytes <= limit
				if ok := r.Ask(c); ok != fits {
					t.Fatalf("ask of %d says %v with %d taken and %d in line", c.Bytes, ok, taken, len(line))
				}
				if fits {
					calls++ // nobody is called who needn't wait
				}
				if line = append(line, c); !slices.Contains(turns, c.Address) {
					turns = append(turns, c.Address)
				}
				serve()
			},
			"try": func(t *rapid.T) {
				n := rapid.IntRange(1, limit).Draw(t, "bytes")
				if ok := r.TryTake(n); ok != (len(line) == 0 && taken+n <= limit) {
					t.Fatalf("try of %d says %v with %d taken and %d in line", n, ok, taken, len(line))
				} else if ok {
					taken += n
					granted = append(granted, &Claim{Bytes: n})
					granted[len(granted)-1].granted.Store(true)
				}
			},
			"release": func(t *rapid.T) {
				if len(granted) == 0 {
					t.Skip()
				}
				i := rapid.IntRange(0, len(granted)-1).Draw(t, "which")
				n := granted[i].Bytes
				taken -= n
				granted = append(granted[:i], granted[i+1:]...)
				r.Release(n)
				serve()
			},
			"withdraw": func(t *rapid.T) {
				if len(line) == 0 {
					t.Skip()
				}
				c := rapid.SampledFrom(line).Draw(t, "which")
				leave(c)
				if !r.Withdraw(c) {
					t.Fatal("a claim in line could not be withdrawn")
				}
				serve()
			},
			"": func(t *rapid.T) {
				want := 0
				for _, c := range line {
					if want += c.Bytes; c.Granted() {
						t.Fatal("a claim was granted out of its turn")
					}
				}
				for _, c := range granted {
					if !c.Granted() {
						t.Fatal("a claim waits whose turn it was")
					}
				}
				if got := r.Wanted(); got != max(0, want-(limit-taken)) {
					t.Fatalf("%d bytes are wanted; want %d of %d in line, with %d taken", got, max(0, want-(limit-taken)), want, taken)
				}
				if s := r.Stats(); s.Taken != taken || s.Waiting != len(line) || taken > limit {
					t.Fatalf("stats %+v; want %d taken, %d waiting", s, taken, len(line))
				}
				if calls != 0 {
					t.Fatalf("%d calls too many", calls)
				}
			},
		})
	})
}

// However many claims of one address wait, another one's waits for one of them only.
func TestALongLineKeepsNoOtherAddressWaiting(t *testing.T) {
	r := NewReserve(3)
	ask := func(address string) *Claim {
		c := &Claim{Bytes: 1, Address: address, Call: func() {}}
		r.Ask(c)
		return c
	}
	for range 100 {
		ask("a")
	}
	other := ask("b")
	r.Release(1)
	r.Release(1)
	if !other.Granted() {
		t.Error("it still waits after two of another address")
	}
}

func TestWithdrawAfterGrant(t *testing.T) {
	r := NewReserve(10)
	c := &Claim{Bytes: 10, Call: func() {}}
	if !r.Ask(c) || r.Withdraw(c) {
		t.Error("a granted claim was withdrawn from the line")
	}
}
