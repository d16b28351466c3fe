package index

import (
	"fmt"
	"runtime"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"darboux/handlers/query"
	"darboux/handlers/riemann"
)

// asked runs a query as a handler does: into a buffer as long as that has room, the rest by
// a stream, of which a window at a time is taken. It returns the bytes of the reply.
func asked(x *Index, q Matcher, buf []byte) int {
	const window = 64 << 10
	cur := Cursor{Slice: 500, Within: true}
	for !cur.Done && !cur.Full {
		buf = x.Search(q, &cur, buf, window)
	}
	if cur.Done {
		return len(buf)
	}
	st := x.Stream()
	for !cur.Done {
		st.Find(q, &cur)
	}
	n := len(buf)
	for done := false; !done; {
		buf, done = st.Next(buf[:0], window)
		n += len(buf)
	}
	st.Release()
	return n
}

// naively is the obvious way: every entry is decoded and matched under its shard's lock.
func naively(x *Index, q *query.Query, buf []byte) (n int) {
	var e riemann.Event
	for _, s := range x.shards {
		s.mu.Lock()
		for id := range s.ids.used {
			at := s.ids.ref(id)
			if at == 0 {
				continue
			}
			entry := s.entry(at)
			if entry.view(&e); q.Match(&e) {
				buf = riemann.AppendEventField(buf[:0], entry.stored())
				n += len(buf)
			}
		}
		s.mu.Unlock()
	}
	return n
}

// copied copies the matches' bytes, and nothing else: their places are known.
func copied(x *Index, places [][]ref, buf []byte) (n int) {
	for i, s := range x.shards {
		for _, at := range places[i] {
			if buf = riemann.AppendEventField(buf, s.entry(at).stored()); len(buf) > 60<<10 {
				n, buf = n+len(buf), buf[:0]
			}
		}
	}
	return n + len(buf)
}

// placesOf are where the matches are.
func placesOf(x *Index, q *query.Query) [][]ref {
	places := make([][]ref, len(x.shards))
	var e riemann.Event
	for i, s := range x.shards {
		for id := range s.ids.used {
			if at := s.ids.ref(id); at != 0 {
				if s.entry(at).view(&e); q.Match(&e) {
					places[i] = append(places[i], at)
				}
			}
		}
	}
	return places
}

// benchQueries are what is measured, and beside what.
var benchQueries = []struct {
	name, text string
	runs       int // in a turn
	beside     func(x *Index, places [][]ref, buf []byte) int
	unit       string
}{
	{"key", `host = "web-0004711.fra1.example.com" and service = "disk /var/lib/d3 used"`, 200, nil, ""},
	{"host", `host = "web-0004711.fra1.example.com"`, 100, nil, ""},
	{"service-prefix", `service =~ "disk /var/lib/d3%" and state = "critical"`, 2, nil, ""},
	{"host-prefix", `host =~ "web-000471%"`, 2, nil, ""},
	{"state", `state = "critical"`, 2, copied, "x-copy"},
	{"scan-state", `state = nil`, 1, passed, "x-bare"},
	{"scan-like", `service =~ "%x%"`, 1, passed, "x-bare"},
}

func passed(x *Index, _ [][]ref, _ []byte) int { return int(barePass(x)) }

// BenchmarkQueries measures each query in turns with the naive scan and with what it can't
// be faster than: CPU time of its goroutine, and wall time beside it; idle, and while
// events are taken at half the rate that one goroutine reaches.
func BenchmarkQueries(b *testing.B) {
	x := New(Config{DefaultTTL: 60})
	defer x.Close()
	newFeed(*many, 100, 1).fill(b, x, feedMicros)
	for _, busy := range []bool{false, true} {
		for i := range benchQueries {
			b.Run(fmt.Sprintf("ingesting=%v/%s", busy, benchQueries[i].name), func(b *testing.B) {
				if busy {
					defer ingest(b, x)()
				}
				benchQuery(b, x, i)
			})
		}
	}
}

func benchQuery(b *testing.B, x *Index, i int) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	row := benchQueries[i]
	q := compiled(row.text)[0]
	places := placesOf(x, q)
	buf := make([]byte, 0, 72<<10)
	var ours, naive, beside timing
	bytes := 0
	b.ReportAllocs()
	for b.Loop() {
		for range row.runs {
			ours.note(b, func() { bytes = asked(x, q, buf[:0]) })
		}
		naive.note(b, func() { naively(x, q, buf) })
		if row.beside != nil {
			for range row.runs {
				beside.note(b, func() { row.beside(x, places, buf[:0]) })
			}
		}
	}
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(float64(*many), "entries")
	b.ReportMetric(float64(bytes), "reply-bytes")
	b.ReportMetric(ours.cpu().Seconds()*1e6, "us-cpu")
	b.ReportMetric(ours.wall().Seconds()*1e6, "us-wall")
	b.ReportMetric(naive.cpu().Seconds()/ours.cpu().Seconds(), "x-faster-than-naive")
	if row.beside != nil {
		b.ReportMetric(ours.cpu().Seconds()/beside.cpu().Seconds(), row.unit)
	}
}

// timing has the times of a thing that was done again and again.
type timing struct{ cpus, walls []time.Duration }

func (t *timing) note(tb testing.TB, f func()) {
	start, startCPU := time.Now(), threadCPU(tb)
	f()
	t.cpus = append(t.cpus, threadCPU(tb)-startCPU)
	t.walls = append(t.walls, time.Since(start))
}

// cpu and wall are the medians.
func (t *timing) cpu() time.Duration  { return median(t.cpus) }
func (t *timing) wall() time.Duration { return median(t.walls) }

func median(all []time.Duration) time.Duration {
	sorted := slices.Sorted(slices.Values(all))
	return sorted[len(sorted)/2]
}

// ingest updates entries at half of one goroutine's full rate until it is stopped.
func ingest(b *testing.B, x *Index) (stop func()) {
	const per = 100
	m := msgs{feed: newFeed(*many, 100, 3), per: per}
	refused := make([]bool, per)
	var view riemann.Msg
	turn := func() { m.each(b, &view, func(events []riemann.Event) { x.Apply(events, feedMicros, refused) }) }
	var ended atomic.Bool
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread()
		for !ended.Load() {
			m.make()
			start := time.Now()
			turn()
			time.Sleep(time.Since(start)) // as long again: that is half the rate
		}
	}()
	return func() { ended.Store(true); <-done }
}
