package handlers

import (
	"fmt"
	"testing"

	"darboux/frame"
	"darboux/handlers/index"
	"darboux/handlers/riemann"
)

// benchSeries is how many series the benchmarks' events are of.
const benchSeries = 10_000

// benchRecord is the i-th event, as a Msg has it.
func benchRecord(i int) *riemann.Record {
	return &riemann.Record{
		Set: riemann.HasTime | riemann.HasTTL | riemann.HasD, Host: fmt.Sprintf("web%d", i%100), Service: fmt.Sprintf("cpu.%d.percent", i/100),
		Time: 1_700_000_000, TTL: 180, D: float64(i) + 0.25,
	}
}

// benchLine is the same event as a line.
func benchLine(dst []byte, i int) []byte {
	return fmt.Appendf(dst, "cpu.%d.percent;host=web%d %d.25 1700000000\n", i/100, i%100, i)
}

// benchDatagram is a Msg of exactly 200 bytes with the same event.
func benchDatagram(i int) []byte {
	r := benchRecord(i)
	for filler := 0; ; filler++ {
		r.Description = string(make([]byte, filler))
		if b := r.AppendField(nil); len(b) >= 200 {
			return b
		}
	}
}

// runBursts works bursts until b.N frames are worked.
func runBursts(b *testing.B, w frame.Worker, bursts []*frame.Burst, frames int) {
	b.ReportAllocs()
	b.ResetTimer()
	for n := 0; n < b.N; n += frames {
		burst := bursts[n/frames%len(bursts)]
		burst.Next, burst.Out = 0, burst.Out[:0]
		for w.Work(burst) == frame.Yielded {
		}
	}
}

// BenchmarkFrames is the cost of one frame, from the burst to the index: a line of
// Graphite, a Msg of one event and a datagram with the same event, beside what the
// index takes of it.
func BenchmarkFrames(b *testing.B) {
	x := index.New(index.Config{DefaultTTL: 60})
	defer x.Close()
	lines := newLineBench(func(l *Lines) { l.Store, l.MaxLine.Value = x, 4096 })
	msgs := newBench(func(r *Riemann) { r.Store, r.MaxEvent.Value = x, 1<<20 })
	const each = 500 // frames of a burst
	var ofLines, ofMsgs, ofDatagrams []*frame.Burst
	var events []riemann.Event
	for i := 0; i < benchSeries; i += each {
		var text []byte
		var bodies [][]byte
		for k := range each {
			text = benchLine(text, i+k)
			bodies = append(bodies, benchRecord(i+k).AppendField(nil))
			var e riemann.Event
			if err := e.Parse(benchRecord(i + k).AppendEvent(nil)); err != nil {
				b.Fatal(err)
			}
			events = append(events, e)
		}
		ofLines = append(ofLines, &frame.Burst{In: text, Window: 64 << 10})
		ofMsgs = append(ofMsgs, newBurst(bodies...))
		var datagrams [][]byte
		for k := range 64 {
			datagrams = append(datagrams, benchDatagram(i+k))
		}
		ofDatagrams = append(ofDatagrams, datagramBurst(datagrams...))
	}
	b.Run("line", func(b *testing.B) { runBursts(b, lines.Protocol().NewWorker(), ofLines, each) })
	b.Run("msg", func(b *testing.B) { runBursts(b, msgs.Protocol().NewWorker(), ofMsgs, each) })
	b.Run("datagram", func(b *testing.B) { runBursts(b, msgs.Datagrams().NewWorker(), ofDatagrams, 64) })
	b.Run("index", func(b *testing.B) {
		b.ReportAllocs()
		refused := make([]bool, 64)
		for n := 0; n < b.N; n += 64 {
			at := n % (benchSeries - 64)
			x.Apply(events[at:at+64], benchTime, refused)
		}
	})
}
