package index

import (
	"context"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"darboux/handlers/riemann"
)

// BenchmarkSnapshot writes an index of -many entries while events are ingested at
// full speed by one goroutine, and loads it again. It compares the rate of events
// with that of turns in which nothing is written. CPU times are those of writing
// and loading alone.
func BenchmarkSnapshot(b *testing.B) {
	x := New(Config{DefaultTTL: 60})
	defer x.Close()
	newFeed(*many, 20, 1).fill(b, x, feedMicros)
	snapshot := Snapshot{Path: filepath.Join(b.TempDir(), "index.snapshot"), Rest: 4}
	in := newIngestion(b, x)
	var with, without, writing, loading time.Duration
	var eventsWith, eventsWithout int64
	var written Written
	b.ResetTimer()
	for range b.N {
		before, start := in.events.Load(), time.Now()
		w, err := snapshot.Write(context.Background(), x)
		if err != nil || w.Events != int64(*many) {
			b.Fatal(w, err)
		}
		written = w
		took := time.Since(start)
		eventsWith += in.events.Load() - before
		with += took
		writing += took

		before, start = in.events.Load(), time.Now()
		time.Sleep(took) // as long as the other turn took
		eventsWithout += in.events.Load() - before
		without += time.Since(start)
	}
	in.end()
	var writingCPU, loadingCPU time.Duration
	for range b.N {
		start := processCPU(b)
		if _, err := snapshot.Write(context.Background(), x); err != nil {
			b.Fatal(err)
		}
		writingCPU += processCPU(b) - start
	}
	for range b.N {
		y := New(Config{DefaultTTL: 60})
		start, startCPU := time.Now(), processCPU(b)
		if l, err := snapshot.Load(context.Background(), y, feedMicros); err != nil || l.Events != int64(*many) {
			b.Fatal(l, err)
		}
		loading += time.Since(start)
		loadingCPU += processCPU(b) - startCPU
		y.Close()
	}
	b.StopTimer()
	rate := func(events int64, in time.Duration) float64 { return float64(events) / in.Seconds() }
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(float64(*many), "entries")
	b.ReportMetric(float64(written.Bytes)/float64(*many), "B/entry")
	b.ReportMetric(writing.Seconds()/float64(b.N), "s-to-write")
	b.ReportMetric(loading.Seconds()/float64(b.N), "s-to-load")
	b.ReportMetric(writingCPU.Seconds()/float64(b.N), "s-cpu-to-write")
	b.ReportMetric(loadingCPU.Seconds()/float64(b.N), "s-cpu-to-load")
	b.ReportMetric(rate(eventsWith, with)/rate(eventsWithout, without), "x-rate-without")
}

// ingestion is a goroutine that applies events as fast as it can.
type ingestion struct {
	events atomic.Int64
	stop   chan struct{}
	done   chan struct{}
}

func newIngestion(b *testing.B, x *Index) *ingestion {
	in := &ingestion{stop: make(chan struct{}), done: make(chan struct{})}
	go func() {
		defer close(in.done)
		var view riemann.Msg
		refused := make([]bool, 100)
		f := newFeed(*many, 20, 3)
		for {
			select {
			case <-in.stop:
				return
			default:
			}
			applyMsg(b, x, &view, f.msg(100), feedMicros, refused)
			in.events.Add(100)
		}
	}()
	return in
}

func (in *ingestion) end() {
	close(in.stop)
	<-in.done
}
