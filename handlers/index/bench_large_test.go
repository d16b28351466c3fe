package index

import (
	"math"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"darboux/handlers/riemann"
)

// BenchmarkGrowth inserts -many keys one by one and reports the longest insert, by
// the wall clock and by the thread's CPU time, what an entry holds and what it has
// resident. After each insert a bare loop turns for as long as that worked: by how much
// it is late at most is what the machine does to anyone. All of it is done three times, with the same hashes, so that a key does the
// same work each time: "steady" is the longest of what each key took at least,
// which leaves out what else happened on the machine.
func BenchmarkGrowth(b *testing.B) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	for range b.N {
		growth(b)
	}
}

func growth(b *testing.B) {
	g := growing{hasher: newHasher(), least: make([]uint32, *many)}
	for i := range g.least {
		g.least[i] = math.MaxUint32
	}
	for range 3 {
		g.round(b)
	}
	n := float64(*many)
	b.ReportMetric(n, "entries")
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(float64(g.total)/n, "ns-cpu/insert")
	b.ReportMetric(g.wall.Seconds()*1e3, "longest-ms-wall")
	b.ReportMetric(g.bare.Seconds()*1e3, "longest-ms-bare-loop")
	b.ReportMetric(g.cpu.Seconds()*1e3, "longest-ms-cpu")
	b.ReportMetric(float64(slices.Max(g.least))/1e6, "longest-ms-steady")
	b.ReportMetric(float64(g.stats.StoredBytes)/n, "B-stored/entry")
	b.ReportMetric(float64(g.stats.HeldBytes)/n, "B-held/entry")
	b.ReportMetric(float64(g.resident)/n, "B-resident/entry")
}

// growing is what the rounds measured: of times and of what is resident the least
// of the rounds.
type growing struct {
	hasher     hasher
	least      []uint32      // wall time of each key's insert, ns
	wall, cpu  time.Duration // of the longest insert
	bare       time.Duration // the longest that the bare loop was late
	total      time.Duration // CPU time of all
	resident   int64
	stats      Stats
	roundsDone int
}

func (g *growing) round(b *testing.B) {
	before := residentBytes(b)
	x := New(Config{DefaultTTL: 60})
	defer x.Close()
	x.hasher = g.hasher
	f := newFeed(*many, 20, 1)
	var view riemann.Msg
	refused := make([]bool, 1)
	var wall, cpu, total, bare time.Duration
	for key := range *many {
		body := f.run(key, 1)
		start, startCPU := time.Now(), threadCPU(b)
		applyMsg(b, x, &view, body, feedMicros, refused)
		spentCPU, spent := threadCPU(b)-startCPU, time.Since(start)
		wall, cpu = max(wall, spent), max(cpu, spentCPU)
		total += spentCPU
		g.least[key] = min(g.least[key], uint32(min(spent, 4*time.Second)))
		bare = max(bare, lateBy(spentCPU))
	}
	resident := residentBytes(b) - before
	if g.roundsDone == 0 {
		g.wall, g.cpu, g.bare, g.total, g.resident = wall, cpu, bare, total, resident
	}
	g.wall, g.cpu, g.bare = min(g.wall, wall), min(g.cpu, cpu), min(g.bare, bare)
	g.total, g.resident = min(g.total, total), min(g.resident, resident)
	g.stats = x.Stats()
	g.roundsDone++
}

// lateBy is by how much a loop that only looks at the clock ends late.
func lateBy(d time.Duration) time.Duration {
	for start := time.Now(); ; {
		if spent := time.Since(start); spent >= d {
			return spent - d
		}
	}
}

// residentBytes is the memory that the process has resident, garbage aside.
func residentBytes(tb testing.TB) int64 {
	runtime.GC()
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		tb.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(status), "VmRSS:")
	n, err := strconv.ParseInt(strings.Fields(rest)[0], 10, 64)
	if err != nil {
		tb.Fatal(err)
	}
	return n << 10
}

// BenchmarkManyBesideOne updates the entries of an index of -many entries and of
// one of a million in turns, and reports how the CPU times of an event compare.
// It also reports the CPU time of a full collection, with both there.
func BenchmarkManyBesideOne(b *testing.B) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	const per = 100
	var sides [2]struct {
		x     *Index
		m     msgs
		spent time.Duration
	}
	for i, entries := range []int{1_000_000, *many} {
		s := &sides[i]
		s.x = New(Config{DefaultTTL: 60})
		defer s.x.Close()
		newFeed(entries, 20, 1).fill(b, s.x, feedMicros)
		s.m = msgs{feed: newFeed(entries, 20, 2), per: per}
	}
	refused := make([]bool, per)
	var view riemann.Msg
	b.ResetTimer()
	for range b.N {
		for i := range sides {
			s := &sides[i]
			s.m.make()
			s.spent += s.m.each(b, &view, func(events []riemann.Event) { s.x.Apply(events, feedMicros, refused) })
		}
	}
	b.StopTimer()
	n := float64(b.N * turnEvents)
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(float64(*many), "entries")
	b.ReportMetric(float64(sides[0].spent)/n, "ns-cpu/event-1M")
	b.ReportMetric(float64(sides[1].spent)/n, "ns-cpu/event-many")
	b.ReportMetric(float64(sides[1].spent)/float64(sides[0].spent), "x-1M")
	b.ReportMetric(float64(fullCollection(b))/1e6, "ms-cpu/collection")
}

// fullCollection is the CPU time of one collection, the shortest of three.
func fullCollection(tb testing.TB) time.Duration {
	shortest := time.Hour
	for range 3 {
		start := processCPU(tb)
		runtime.GC()
		shortest = min(shortest, processCPU(tb)-start)
	}
	return shortest
}

// BenchmarkPostings updates entries of two indexes in turns, one of them without
// postings; one event in ten changes the state of its key.
func BenchmarkPostings(b *testing.B) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	const entries, per = 1_000_000, 100
	var sides [2]struct {
		x     *Index
		spent time.Duration
	}
	for i := range sides {
		x := New(Config{DefaultTTL: 60})
		defer x.Close()
		x.withoutPostings = i == 1
		newFeed(entries, 19, 1).fill(b, x, feedMicros)
		sides[i].x = x
	}
	m := msgs{feed: newFeed(entries, 19, 2), per: per}
	refused := make([]bool, per)
	var view riemann.Msg
	b.ResetTimer()
	for range b.N {
		m.make()
		for i := range sides {
			s := &sides[i]
			s.spent += m.each(b, &view, func(events []riemann.Event) { s.x.Apply(events, feedMicros, refused) })
		}
	}
	n := float64(b.N * turnEvents)
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(float64(sides[0].spent)/n, "ns-cpu/event-with")
	b.ReportMetric(float64(sides[1].spent)/n, "ns-cpu/event-without")
	b.ReportMetric(float64(sides[0].spent)/float64(sides[1].spent), "x-without")
}
