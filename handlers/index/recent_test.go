package index

import (
	"fmt"
	"testing"

	"darboux/handlers/riemann"
)

// TestKnownTermsMove makes so many states that the table of states is split again and again,
// while the one of the last new entry is known.
func TestKnownTermsMove(t *testing.T) {
	x := newIndex(t, Config{DefaultTTL: 60, Shards: 1})
	put := func(host, state string) {
		apply(t, x, riemann.Record{Set: riemann.HasHost | riemann.HasState, Host: host, State: state, Tags: []string{"x", "y"}})
	}
	const entries = 3000
	for i := range entries {
		put(fmt.Sprint("calm", i), "ok")
		put(fmt.Sprint("changing", i), "ok")
	}
	for i := range entries {
		put(fmt.Sprint("changing", i), fmt.Sprint("state", i))
		if i%100 == 0 {
			x.mustHold(t)
		}
	}
	cur := Cursor{}
	put("one more", "ok")
	x.Search(compiled(`state = "ok"`)[0], &cur, nil, 0)
	if cur.Matched != entries+1 || cur.Way != ByPosting {
		t.Errorf("%d entries are found by %v, want %d by the posting", cur.Matched, cur.Way, entries+1)
	}
}
