package index

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"darboux/handlers/riemann"
)

// Whatever kinds of metric a client sets together, of which the store keeps the one that
// counts, a snapshot can be read again, and answers as before.
func TestSnapshotOfEveryMixOfMetrics(t *testing.T) {
	x := newIndex(t, Config{Shards: 4, DefaultTTL: 60})
	for mix := range riemann.Fields(8) {
		for i, d := range []float64{1.5, math.NaN(), math.Inf(-1)} {
			r := riemann.Record{Service: fmt.Sprint(mix, i), Sint64: 7, D: d, F: 2.5}
			for bit, kind := range []riemann.Fields{riemann.HasSint64, riemann.HasD, riemann.HasF} {
				if mix&(1<<bit) != 0 {
					r.Set |= kind
				}
			}
			apply(t, x, r)
		}
	}
	loaded := newIndex(t, Config{Shards: 4, DefaultTTL: 60})
	if n, err := load(written(t, x), loaded, feedMicros); err != nil || n.Events != 24 {
		t.Fatalf("loaded %+v, error %v; want 24 events", n, err)
	}
	for i, q := range someQueries {
		if got, want := contents(loaded, q, 0, 0), contents(x, q, 0, 0); !slices.Equal(got, want) {
			t.Errorf("query %d after loading finds %q\nwant %q", i, got, want)
		}
	}
}
