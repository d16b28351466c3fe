package index

import (
	"flag"
	"runtime"
	"testing"
	"time"

	"darboux/handlers/riemann"
)

// many is how many entries the benchmarks of large indexes have.
var many = flag.Int("many", 1_000_000, "entries of the benchmarks of large indexes")

// BenchmarkExpire takes a hundredth of the entries out in each run, inserting
// as many anew, and reports the CPU time of an entry's expiry. The entries are
// those that came one after the other, or every hundredth; they became due at any
// moment of the last second.
func BenchmarkExpire(b *testing.B) {
	b.Run("neighbours", func(b *testing.B) {
		expireShares(b, func(share, i int) int { return share*(*many/100) + i })
	})
	b.Run("scattered", func(b *testing.B) {
		expireShares(b, func(share, i int) int { return 100*i + share })
	})
}

func expireShares(b *testing.B, key func(share, i int) int) {
	const shares, second = 100, 1_000_000
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	x := New(Config{DefaultTTL: 60})
	defer x.Close()
	f := newFeed(*many, 20, 1)
	var view riemann.Msg
	refused := make([]bool, 100)
	insert := func(share int, due int64) {
		for i := 0; i < *many/shares; i += 100 {
			f.moment = due - feedTTL*second - f.random.Int64N(second)
			f.frame = f.frame[:0]
			for k := range 100 {
				f.add(key(share, i+k))
			}
			applyMsg(b, x, &view, f.frame, f.moment, refused)
		}
	}
	f.fill(b, x, feedMicros) // so that ids are in the order of keys
	for share := range shares {
		insert(share, feedMicros+int64(share)*second)
	}
	var spent time.Duration
	expired := 0
	b.ResetTimer()
	for i := range b.N {
		now := feedMicros + int64(i)*second
		start := threadCPU(b)
		n := x.Expire(now + 1)
		spent += threadCPU(b) - start
		if n != *many/shares {
			b.Fatalf("%d entries expired, want %d", n, *many/shares)
		}
		expired += n
		b.StopTimer()
		insert(i%shares, now+shares*second)
		b.StartTimer()
	}
	b.ReportMetric(float64(*many), "entries")
	b.ReportMetric(float64(spent)/float64(expired), "ns-cpu/expired")
	b.ReportMetric(100*float64(spent)/float64(b.N)/float64(time.Second), "%-of-a-core")
}

// BenchmarkNothingDue runs the reaper when nothing is due: after a fill, and when
// every entry was refreshed since the blocks were last looked into.
func BenchmarkNothingDue(b *testing.B) {
	c := &clocks{wall: feedMicros}
	x := New(Config{DefaultTTL: 60, Monotonic: c.monotonic})
	defer x.Close()
	f := newFeed(*many, 20, 1)
	f.fill(b, x, feedMicros)
	b.Run("filled", func(b *testing.B) {
		for b.Loop() {
			x.Expire(feedMicros)
		}
		b.ReportMetric(float64(*many), "entries")
	})
	b.Run("refreshed", func(b *testing.B) { refreshedAllTheTime(b, x, f, c) })
}

// refreshedAllTheTime refreshes every entry every ten seconds of a virtual clock
// and runs the reaper every five. After two minutes it measures its runs.
func refreshedAllTheTime(b *testing.B, x *Index, f *feed, c *clocks) {
	const begin = 24
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var view riemann.Msg
	refused := make([]bool, 100)
	var total, longest time.Duration
	for step := range begin + b.N {
		c.pass(5 * second)
		now := c.wall
		f.moment = now
		half := *many / 2
		for first := step % 2 * half; first < step%2*half+half; first += 100 {
			applyMsg(b, x, &view, f.run(first, 100), now, refused)
		}
		start := threadCPU(b)
		if n := x.Expire(now); n != 0 {
			b.Fatal(n, " entries expired")
		}
		if spent := threadCPU(b) - start; step >= begin {
			total += spent
			longest = max(longest, spent)
		}
	}
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(float64(*many), "entries")
	b.ReportMetric(total.Seconds()*1e3/float64(b.N), "ms-cpu/run")
	b.ReportMetric(longest.Seconds()*1e3, "ms-cpu-longest-run")
}
