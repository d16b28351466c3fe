package riemann

import (
	"slices"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"darboux/handlers/riemann/pb"
)

// typical is an event of 185 bytes, as monitoring agents send them.
func typical() *Record {
	return &Record{
		Set:         HasTime | HasTimeMicros | HasTTL | HasD | HasF,
		Host:        "web-017.fra1.example.com",
		Service:     "disk /var/lib used",
		State:       "ok",
		Description: "42.5 % used, 18.0 GiB free of 32 GiB",
		Time:        1_700_000_000,
		TimeMicros:  1_700_000_000_123_456,
		D:           0.425,
		F:           0.425,
		TTL:         20,
		Tags:        []string{"production", "storage"},
		Attributes:  []Pair{{"region", "eu-central"}, {"datacenter", "fra1"}},
	}
}

func typicalMsg(events int) []byte {
	var msg []byte
	for range events {
		msg = typical().AppendField(msg)
	}
	return msg
}

func TestTypicalSize(t *testing.T) {
	if n := len(typical().AppendEvent(nil)); n != 185 {
		t.Errorf("the typical event has %d bytes, but results speak of 185", n)
	}
}

func BenchmarkEventParse(b *testing.B) {
	raw := typical().AppendEvent(nil)
	var e Event
	b.ReportAllocs()
	for b.Loop() {
		if err := e.Parse(raw); err != nil {
			b.Fatal(err)
		}
	}
}

// inTurns runs view and reference alternately, events times each a turn, and
// reports, as medians over the turns, the time each took for an event and how
// many times faster view was.
func inTurns(b *testing.B, events int, view, reference func()) {
	var viewTurns, referenceTurns, ratios []float64
	for b.Loop() {
		start := time.Now()
		view()
		middle := time.Now()
		reference()
		end := time.Now()
		viewTurns = append(viewTurns, float64(middle.Sub(start)))
		referenceTurns = append(referenceTurns, float64(end.Sub(middle)))
		ratios = append(ratios, float64(end.Sub(middle))/float64(middle.Sub(start)))
	}
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(median(viewTurns)/float64(events), "view-ns/event")
	b.ReportMetric(median(referenceTurns)/float64(events), "protobuf-ns/event")
	b.ReportMetric(median(ratios), "x-faster")
}

func median(v []float64) float64 {
	slices.Sort(v)
	return v[len(v)/2]
}

// BenchmarkEventBesideProtobuf compares with proto.Unmarshal into a message
// that is used again and again: less work than a server could do with it.
func BenchmarkEventBesideProtobuf(b *testing.B) {
	raw := typical().AppendEvent(nil)
	const turn = 200
	var e Event
	var msg pb.Event
	inTurns(b, turn, func() {
		for range turn {
			if err := e.Parse(raw); err != nil {
				b.Fatal(err)
			}
		}
	}, func() {
		for range turn {
			if err := proto.Unmarshal(raw, &msg); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// BenchmarkMsgBesideProtobuf compares whole messages as a server reads them.
func BenchmarkMsgBesideProtobuf(b *testing.B) {
	for _, c := range []struct {
		name   string
		events int
	}{{"events=1", 1}, {"events=100", 100}} {
		b.Run(c.name, func(b *testing.B) {
			frame := typicalMsg(c.events)
			repeat := 200 / c.events
			var m Msg
			inTurns(b, repeat*c.events, func() {
				for range repeat {
					if err := m.Parse(frame, 1<<20); err != nil || !m.Next() {
						b.Fatal(err)
					}
				}
			}, func() {
				for range repeat {
					if err := proto.Unmarshal(frame, new(pb.Msg)); err != nil {
						b.Fatal(err)
					}
				}
			})
		})
	}
}

func BenchmarkMsgParse(b *testing.B) {
	frame := typicalMsg(100)
	var m Msg
	b.ReportAllocs()
	for b.Loop() {
		if err := m.Parse(frame, 1<<20); err != nil || !m.Next() {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*100), "ns/event")
}

func BenchmarkAppendStored(b *testing.B) {
	for _, c := range []struct {
		name   string
		record func() *Record
	}{
		{"complete", typical},
		{"no ttl, no metric_f", func() *Record {
			r := typical()
			r.Set &^= HasTTL | HasF
			return r
		}},
		{"all metric kinds", func() *Record {
			r := typical()
			r.Set |= HasSint64
			return r
		}},
	} {
		b.Run(c.name, func(b *testing.B) {
			var e Event
			if err := e.Parse(c.record().AppendEvent(nil)); err != nil {
				b.Fatal(err)
			}
			var dst []byte
			b.ReportAllocs()
			for b.Loop() {
				dst = e.AppendStored(dst[:0], 1, 60)
			}
		})
	}
}

func BenchmarkParseStoredFields(b *testing.B) {
	var e Event
	if err := e.Parse(typical().AppendEvent(nil)); err != nil {
		b.Fatal(err)
	}
	kept := e.Kept()
	stored := e.AppendStored(nil, 0, 60)
	for _, c := range []struct {
		name string
		want Fields
	}{{"all", AllFields}, {"state and service", HasState | HasService}, {"metric", HasD}} {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if err := e.ParseStoredFields(stored, kept, c.want); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkRecordAppendField(b *testing.B) {
	r := typical()
	var dst []byte
	b.ReportAllocs()
	for b.Loop() {
		dst = r.AppendField(dst[:0])
	}
}
