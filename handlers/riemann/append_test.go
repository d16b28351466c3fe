package riemann

import (
	"bytes"
	"testing"

	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"

	"darboux/handlers/riemann/pb"
)

// What the Append functions write protobuf reads, and a Record writes the same.
func TestAppendedFieldsAreProtobuf(t *testing.T) {
	text := rapid.OneOf(rapid.String(), rapid.StringN(100, 300, -1))
	rapid.Check(t, func(t *rapid.T) {
		r := Record{
			Set:  HasHost | HasService | HasTime | HasTimeMicros | HasTTL | HasD,
			Host: text.Draw(t, "host"), Service: text.Draw(t, "service"),
			Time: rapid.Int64().Draw(t, "time"), TimeMicros: rapid.Int64().Draw(t, "micros"),
			TTL: rapid.Float32().Draw(t, "ttl"), D: rapid.Float64().Draw(t, "d"),
		}
		for range rapid.IntRange(0, 3).Draw(t, "attributes") {
			r.Attributes = append(r.Attributes, Pair{text.Draw(t, "key"), text.Draw(t, "value")})
		}
		b := AppendTime(nil, r.Time)
		b = AppendService(b, []byte(r.Service))
		b = AppendHost(b, []byte(r.Host))
		b = AppendTTL(b, r.TTL)
		for _, a := range r.Attributes {
			b = AppendAttribute(b, []byte(a.Key), []byte(a.Value))
		}
		b = AppendTimeMicros(b, r.TimeMicros)
		b = AppendMetric(b, r.D)
		if want := r.AppendEvent(nil); !bytes.Equal(b, want) {
			t.Fatalf("got % x; a Record writes % x", b, want)
		}
		var e pb.Event
		if err := proto.Unmarshal(b, &e); err != nil {
			t.Fatal(err)
		}
		if e.GetHost() != r.Host || e.GetService() != r.Service || e.GetTime() != r.Time || e.GetTimeMicros() != r.TimeMicros ||
			e.GetTtl() != r.TTL || e.GetMetricD() != r.D || len(e.Attributes) != len(r.Attributes) {
			t.Fatalf("protobuf reads %v of %+v", &e, r)
		}
	})
}
