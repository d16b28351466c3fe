package proc

import (
	"math"
	"runtime/metrics"
	"time"

	"golang.org/x/sys/unix"
)

// The runtime's own figures that a Self holds, by their place in samples.
const (
	collections = iota
	objects
	pauses
	lag
)

// Self is what this program has used up to a moment.
type Self struct {
	CPU     time.Duration
	Peak    int64 // bytes resident at most
	samples []metrics.Sample
}

// Now reads it.
func Now() Self {
	s := Self{samples: []metrics.Sample{
		collections: {Name: "/gc/cycles/total:gc-cycles"},
		objects:     {Name: "/gc/heap/allocs:objects"},
		pauses:      {Name: "/sched/pauses/total/gc:seconds"},
		lag:         {Name: "/sched/latencies:seconds"},
	}}
	metrics.Read(s.samples)
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &u); err == nil {
		s.CPU = time.Duration(u.Utime.Nano() + u.Stime.Nano())
		s.Peak = u.Maxrss << 10
	}
	return s
}

// Spent is what was used between two moments.
type Spent struct {
	CPU          time.Duration
	GCs          int64
	Allocs       int64
	GCPauseMax   time.Duration
	SchedLagP99  time.Duration
	SchedLagMax  time.Duration
	PeakResident int64
}

// Since tells what was used since then. Times come in the runtime's buckets,
// each counted at its upper end.
func (s Self) Since(then Self) Spent {
	count := func(i int) int64 { return int64(s.samples[i].Value.Uint64() - then.samples[i].Value.Uint64()) }
	pause, wait := between(then.samples[pauses], s.samples[pauses]), between(then.samples[lag], s.samples[lag])
	return Spent{
		CPU: s.CPU - then.CPU, GCs: count(collections), Allocs: count(objects), PeakResident: s.Peak,
		GCPauseMax: pause.quantile(1), SchedLagP99: wait.quantile(0.99), SchedLagMax: wait.quantile(1),
	}
}

// growth is a runtime histogram less an earlier one.
type growth struct {
	counts  []uint64
	buckets []float64 // seconds; bucket i is from buckets[i] to buckets[i+1]
	total   uint64
}

func between(then, now metrics.Sample) growth {
	a, b := then.Value.Float64Histogram(), now.Value.Float64Histogram()
	g := growth{counts: make([]uint64, len(b.Counts)), buckets: b.Buckets}
	for i := range b.Counts {
		g.counts[i] = b.Counts[i] - a.Counts[i]
		g.total += g.counts[i]
	}
	return g
}

// quantile is the upper end of the bucket of the q-th value, 0 if there is none.
func (g growth) quantile(q float64) time.Duration {
	want := uint64(math.Ceil(q * float64(g.total)))
	var sum uint64
	for i, n := range g.counts {
		sum += n
		if n > 0 && sum >= want {
			end := g.buckets[i+1]
			if math.IsInf(end, 0) {
				end = g.buckets[i]
			}
			return time.Duration(end * 1e9)
		}
	}
	return 0
}
