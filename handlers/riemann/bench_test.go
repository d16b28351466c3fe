package riemann

import (
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"darboux/handlers/riemann/pb"
)

// typical is an event of 185 bytes, as monitoring agents send them.
func typical() []byte {
	r := Record{
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
	return r.AppendEvent(nil)
}

func TestTypicalSize(t *testing.T) {
	if n := len(typical()); n != 185 {
		t.Errorf("the typical event has %d bytes, but results speak of 185", n)
	}
}

func BenchmarkEventParse(b *testing.B) {
	raw := typical()
	var e Event
	b.ReportAllocs()
	b.SetBytes(int64(len(raw)))
	for b.Loop() {
		if err := e.Parse(raw); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkEventBesideProtobuf takes the view and proto.Unmarshal in turns of
// a few hundred events and reports how many times faster the view is.
func BenchmarkEventBesideProtobuf(b *testing.B) {
	raw := typical()
	const turn = 200
	var e Event
	var msg pb.Event
	var view, reference time.Duration
	for b.Loop() {
		start := time.Now()
		for range turn {
			if err := e.Parse(raw); err != nil {
				b.Fatal(err)
			}
		}
		middle := time.Now()
		for range turn {
			if err := proto.Unmarshal(raw, &msg); err != nil {
				b.Fatal(err)
			}
		}
		view += middle.Sub(start)
		reference += time.Since(middle)
	}
	n := float64(b.N * turn)
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(float64(view)/n, "view-ns/event")
	b.ReportMetric(float64(reference)/n, "protobuf-ns/event")
	b.ReportMetric(float64(reference)/float64(view), "x-faster")
}

func BenchmarkAppendStored(b *testing.B) {
	raw := typical()
	var e Event
	if err := e.Parse(raw); err != nil {
		b.Fatal(err)
	}
	var dst []byte
	b.ReportAllocs()
	for b.Loop() {
		dst = e.AppendStored(dst[:0], 1, 60)
	}
}
