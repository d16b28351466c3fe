package index

import (
	"runtime"
	"testing"
	"time"

	"darboux/handlers/riemann"
)

// BenchmarkScan searches all entries for a state that one in a hundred has, beside
// a bare pass over the entries' memory, in turns.
func BenchmarkScan(b *testing.B) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	x := New(Config{DefaultTTL: 60})
	defer x.Close()
	f := newFeed(*many, 100, 1)
	f.fill(b, x, feedMicros)
	critical := matchFunc(func(e *riemann.Event) bool { return string(e.StateBytes()) == "critical" })
	var cur Cursor
	var dst []byte
	var scan, bare time.Duration
	b.ReportAllocs()
	b.ResetTimer()
	for range b.N {
		start := threadCPU(b)
		for cur = (Cursor{Slice: 10_000}); !cur.Done; {
			dst = x.Search(critical, &cur, dst[:0], 0)
		}
		middle := threadCPU(b)
		barePass(x)
		scan += middle - start
		bare += threadCPU(b) - middle
	}
	n := float64(b.N * *many)
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(float64(*many), "entries")
	b.ReportMetric(float64(scan)/n, "ns-cpu/entry")
	b.ReportMetric(float64(bare)/n, "ns-cpu/entry-bare")
	b.ReportMetric(float64(scan)/float64(bare), "x-bare")
}

// barePass reads a byte in each cache line of each entry.
func barePass(x *Index) (sum byte) {
	for _, s := range x.shards {
		for id := range s.ids.used {
			if at := s.ids.ref(id); at != 0 {
				stored := s.entry(at).stored()
				for i := 0; i < len(stored); i += cacheLine {
					sum += stored[i]
				}
			}
		}
	}
	return sum
}
