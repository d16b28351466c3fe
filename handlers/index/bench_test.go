package index

import (
	"fmt"
	"runtime"
	"sync"
	"testing"
	"time"

	"darboux/handlers/riemann"
)

// turnEvents is how many events one side of a comparison works before the other has its
// turn: so few that they are still in the cache, as what was just read from a connection is.
const turnEvents = 1000

// msgs makes ahead what a turn works, so that making it isn't measured.
type msgs struct {
	feed   *feed
	bodies [][]byte
	per    int // events a Msg
}

func (m *msgs) make() {
	if m.bodies == nil {
		m.bodies = make([][]byte, turnEvents/m.per)
	}
	for i := range m.bodies {
		m.bodies[i] = append(m.bodies[i][:0], m.feed.msg(m.per)...)
	}
}

// each walks all Msgs and returns the CPU time that f took with their events, the
// walk included.
func (m *msgs) each(tb testing.TB, view *riemann.Msg, f func(events []riemann.Event)) time.Duration {
	start := threadCPU(tb)
	for _, body := range m.bodies {
		if err := view.Parse(body, 0); err != nil {
			tb.Fatal(err)
		}
		for view.Next() {
			f(view.Events)
		}
	}
	return threadCPU(tb) - start
}

// BenchmarkBesideStructs updates entries of the index and of the map of structs
// in turns. ns are of CPU time, and the walk and the hash are in both. What collections take
// on threads of their own is only the map's doing, and is reported by itself.
func BenchmarkBesideStructs(b *testing.B) {
	const entries = 1_000_000
	x, ref := New(Config{DefaultTTL: 60}), newStructs()
	defer x.Close()
	newFeed(entries, 20, 1).fill(b, x, feedMicros)
	fillStructs(b, ref, entries)
	refused := make([]bool, 100)
	var view riemann.Msg
	for _, per := range []int{1, 10, 100} {
		b.Run(fmt.Sprintf("entries=%d/per=%d", entries, per), func(b *testing.B) {
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			m := msgs{feed: newFeed(entries, 20, 2), per: per}
			var ours, theirs time.Duration
			rounds := 0
			runtime.GC()
			marked := markCPU()
			for b.Loop() {
				m.make()
				ours += m.each(b, &view, func(events []riemann.Event) { x.Apply(events, feedMicros, refused) })
				theirs += m.each(b, &view, func(events []riemann.Event) { ref.apply(events, feedMicros) })
				rounds++
			}
			collected := theirs + markCPU() - marked
			n := float64(rounds * turnEvents)
			b.ReportMetric(0, "ns/op")
			b.ReportMetric(float64(ours)/n, "index-ns/event")
			b.ReportMetric(float64(theirs)/n, "structs-ns/event")
			b.ReportMetric(float64(theirs)/float64(ours), "x-faster")
			b.ReportMetric(float64(collected)/n, "structs-collected-ns/event")
			b.ReportMetric(float64(collected)/float64(ours), "x-faster-collected")
		})
	}
}

func fillStructs(tb testing.TB, s *structs, entries int) {
	f := newFeed(entries, 20, 1)
	var m riemann.Msg
	for first := 0; first < entries; first += 100 {
		if err := m.Parse(f.run(first, 100), 0); err != nil {
			tb.Fatal(err)
		}
		for m.Next() {
			s.apply(m.Events, feedMicros)
		}
	}
}

// BenchmarkApply updates entries, and counts allocations.
func BenchmarkApply(b *testing.B) {
	for _, per := range []int{1, 10, 100} {
		b.Run(fmt.Sprintf("per=%d", per), func(b *testing.B) { updates(b, per) })
	}
}

func updates(b *testing.B, per int) {
	const entries = 1_000_000
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	x := New(Config{DefaultTTL: 60})
	defer x.Close()
	newFeed(entries, 20, 1).fill(b, x, feedMicros)
	refused := make([]bool, per)
	var view riemann.Msg
	m := msgs{feed: newFeed(entries, 20, 2), per: per}
	var spent time.Duration
	b.ReportAllocs()
	b.ResetTimer()
	for i := 0; i < b.N; i += turnEvents {
		m.make()
		spent += m.each(b, &view, func(events []riemann.Event) { x.Apply(events, feedMicros, refused) })
	}
	b.ReportMetric(float64(spent)/float64(b.N), "ns-cpu/event")
}

// BenchmarkTwoGoroutines compares the rate of two goroutines with that of one, in
// turns: by the wall clock, and by what the rate would be if each had a core of its
// own, from the CPU time of an event.
func BenchmarkTwoGoroutines(b *testing.B) {
	const entries, per = 1_000_000, 100
	x := New(Config{DefaultTTL: 60})
	defer x.Close()
	newFeed(entries, 20, 1).fill(b, x, feedMicros)
	var sides [2]side
	for i := range sides {
		sides[i].msgs = msgs{feed: newFeed(entries, 20, uint64(i)), per: per}
	}
	var wall, cpu [2]time.Duration // of one, of two
	for b.Loop() {
		for i := range sides {
			sides[i].msgs.make()
		}
		for n := range 2 {
			w, c := together(b, x, sides[:n+1])
			wall[n] += w
			cpu[n] += c
		}
	}
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(2*float64(wall[0])/float64(wall[1]), "x-one-wall")
	b.ReportMetric(4*float64(cpu[0])/float64(cpu[1]), "x-one-cpu")
}

// side is what one goroutine works.
type side struct {
	msgs msgs
	view riemann.Msg
	cpu  time.Duration
}

// together lets each side work its Msgs ten times, all at once, and returns the
// wall time and the CPU time of all.
func together(b *testing.B, x *Index, sides []side) (wall, cpu time.Duration) {
	start := time.Now()
	var done sync.WaitGroup
	for i := range sides {
		s := &sides[i]
		done.Go(func() {
			runtime.LockOSThread()
			refused := make([]bool, s.msgs.per)
			s.cpu = 0
			for range 10 {
				s.cpu += s.msgs.each(b, &s.view, func(events []riemann.Event) { x.Apply(events, feedMicros, refused) })
			}
		})
	}
	done.Wait()
	wall = time.Since(start)
	for i := range sides {
		cpu += sides[i].cpu
	}
	return wall, cpu
}
