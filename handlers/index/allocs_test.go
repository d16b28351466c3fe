//go:build !race

package index

import (
	"testing"

	"darboux/handlers/riemann"
)

// Known keys cost no allocation, in place or not, nor does a search.
func TestNoAllocations(t *testing.T) {
	x := newIndex(t, Config{DefaultTTL: 60})
	f := newFeed(1000, 3, 1)
	f.fill(t, x, feedMicros)
	refused := make([]bool, 100)
	var m riemann.Msg
	if n := testing.AllocsPerRun(100, func() { applyMsg(t, x, &m, f.msg(100), feedMicros, refused) }); n >= 1 {
		t.Errorf("a Msg of 100 known keys costs %v allocations", n)
	}
	dst := make([]byte, 0, 1<<20)
	var cur Cursor
	if n := testing.AllocsPerRun(100, func() { cur = Cursor{}; x.Search(matchAll{}, &cur, dst, 0) }); n >= 1 {
		t.Errorf("a search costs %v allocations", n)
	}
}
