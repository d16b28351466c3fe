package handlers

import (
	"fmt"
	"runtime"
	"sort"
	"testing"
	"time"

	"golang.org/x/sys/unix"
	"google.golang.org/protobuf/proto"

	"darboux/frame"
	"darboux/handlers/index"
	"darboux/handlers/riemann"
)

// benchIndex is an index of so many entries of about 185 bytes, ten services a host, one
// in a hundred critical.
func benchIndex(b *testing.B, entries int) *index.Index {
	x := index.New(index.Config{DefaultTTL: 60})
	b.Cleanup(x.Close)
	events := make([]riemann.Event, 100)
	for first := 0; first < entries; first += len(events) {
		for i := range events {
			n := first + i
			r := riemann.Record{
				Set:  riemann.HasTime | riemann.HasTimeMicros | riemann.HasTTL | riemann.HasD | riemann.HasF,
				Host: fmt.Sprintf("web-%07d.fra1.example.com", n/10), Service: fmt.Sprintf("disk /var/lib/d%d used", n%10),
				State: "ok", Description: "42.5 % used, 18.0 GiB free of 32", Tags: []string{"production", "storage"},
				Time: benchTime / 1_000_000, TimeMicros: benchTime, D: 0.425, F: 0.425, TTL: 60,
				Attributes: []riemann.Pair{{Key: "region", Value: "eu-central"}, {Key: "rack", Value: "fra1-17"}},
			}
			if n%100 == 17 {
				r.State = "critical"
			}
			if err := events[i].Parse(r.AppendEvent(nil)); err != nil {
				b.Fatal(err)
			}
		}
		if x.Apply(events, benchTime, make([]bool, len(events))) > 0 {
			b.Fatal(x.WhyRefused())
		}
	}
	return x
}

// BenchmarkQueryInHandler is what a query costs a handler at a million entries, from the
// burst to the last byte of its reply: CPU time, and wall time beside it.
func BenchmarkQueryInHandler(b *testing.B) {
	const entries = 1_000_000
	x := benchIndex(b, entries)
	bench := newBench(func(r *Riemann) { r.Store, r.Elapsed = x, SinceStart })
	for _, row := range []struct{ name, text string }{
		{"key", `host = "web-0004711.fra1.example.com" and service = "disk /var/lib/d3 used"`},
		{"host", `host = "web-0004711.fra1.example.com"`},
		{"state", `state = "critical"`},
		{"scan-state", `state = nil`},
		{"scan-like", `service =~ "%x%"`},
	} {
		b.Run(row.name, func(b *testing.B) {
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			m := queryOf(row.text)
			body, err := proto.Marshal(m)
			if err != nil {
				b.Fatal(err)
			}
			burst := newBurst(body)
			var cpus, walls []time.Duration
			bytes := 0
			b.ReportAllocs()
			for b.Loop() {
				start, startCPU := time.Now(), threadCPU(b)
				bytes = bench.answered(burst)
				cpus, walls = append(cpus, threadCPU(b)-startCPU), append(walls, time.Since(start))
			}
			b.ReportMetric(entries, "entries")
			b.ReportMetric(float64(bytes), "reply-bytes")
			b.ReportMetric(quantile(cpus, 50).Seconds()*1e6, "us-cpu")
			b.ReportMetric(quantile(walls, 50).Seconds()*1e6, "us-wall")
			b.ReportMetric(0, "ns/op")
		})
	}
}

// answered works a burst from its beginning to its end, and returns the bytes of replies.
func (b *bench) answered(burst *frame.Burst) (bytes int) {
	burst.Next, burst.Out = 0, burst.Out[:0]
	for {
		status := b.worker.Work(burst)
		if status == frame.Yielded {
			continue
		}
		bytes += len(burst.Out)
		if status == frame.Done {
			return bytes
		}
		burst.Out = burst.Out[:0]
	}
}

// BenchmarkBystander is how long a small request waits for its reply on two handlers,
// alone and while 20 connections repeat scans of 200,000 entries.
func BenchmarkBystander(b *testing.B) {
	x := benchIndex(b, 200_000)
	bench := newBench(func(r *Riemann) { r.Store, r.Elapsed = x, SinceStart })
	scan, err := proto.Marshal(queryOf(`state = nil`))
	if err != nil {
		b.Fatal(err)
	}
	small, err := proto.Marshal(eventsOf(1))
	if err != nil {
		b.Fatal(err)
	}
	for _, connections := range []int{0, 20} {
		b.Run(fmt.Sprintf("scans=%d", connections), func(b *testing.B) {
			s := startScans(bench, 2, connections, scan, nil)
			defer s.end()
			h := &bystander{back: make(chan *frame.Burst, 1)}
			request := newBurst(small)
			request.Home = h
			var waits []time.Duration
			for b.Loop() {
				start := time.Now()
				request.Next, request.Out = 0, request.Out[:0]
				s.ring.Push(request)
				<-h.back
				waits = append(waits, time.Since(start))
			}
			b.ReportMetric(quantile(waits, 50).Seconds()*1e6, "us-p50")
			b.ReportMetric(quantile(waits, 99).Seconds()*1e6, "us-p99")
			b.ReportMetric(float64(s.done.Load()), "scans")
			b.ReportMetric(0, "ns/op")
		})
	}
}

func quantile(all []time.Duration, percent int) time.Duration {
	sorted := append([]time.Duration(nil), all...)
	sort.Slice(sorted, func(i, j int) bool { return sorted[i] < sorted[j] })
	return sorted[len(sorted)*percent/100]
}

// threadCPU is the CPU time of the calling thread, to which the goroutine must be locked.
func threadCPU(b *testing.B) time.Duration {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &t); err != nil {
		b.Fatal(err)
	}
	return time.Duration(t.Nano())
}
