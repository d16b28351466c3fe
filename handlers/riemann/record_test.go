package riemann

import (
	"math"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"

	"darboux/handlers/riemann/pb"
)

// record draws a Record.
func record() *rapid.Generator[*Record] {
	return rapid.Custom(func(t *rapid.T) *Record {
		text := rapid.SampledFrom([]string{"", "", "a", "web 1", strings.Repeat("x", 127), strings.Repeat("x", 20_000)})
		r := &Record{
			Set:  Fields(rapid.Uint16Range(0, uint16(HasTags-1)).Draw(t, "set")),
			Host: text.Draw(t, "host"), Service: text.Draw(t, "service"),
			State: text.Draw(t, "state"), Description: text.Draw(t, "description"),
			Time: rapid.Int64().Draw(t, "time"), TimeMicros: rapid.Int64().Draw(t, "micros"),
			Sint64: rapid.Int64().Draw(t, "sint64"), D: rapid.Float64().Draw(t, "d"),
			F: rapid.Float32().Draw(t, "f"), TTL: rapid.Float32().Draw(t, "ttl"),
			Tags: rapid.SliceOfN(text, 0, 3).Draw(t, "tags"),
		}
		for range rapid.IntRange(0, 3).Draw(t, "attributes") {
			r.Attributes = append(r.Attributes, Pair{text.Draw(t, "key"), text.Draw(t, "value")})
		}
		return r
	})
}

// message is r as protobuf's own type.
func (r *Record) message() *pb.Event {
	m := &pb.Event{Tags: r.Tags}
	text := func(bit Fields, s string) *string {
		if s == "" && r.Set&bit == 0 {
			return nil
		}
		return &s
	}
	m.Host, m.Service = text(HasHost, r.Host), text(HasService, r.Service)
	m.State, m.Description = text(HasState, r.State), text(HasDescription, r.Description)
	for _, f := range []struct {
		bit Fields
		set func()
	}{
		{HasTime, func() { m.Time = &r.Time }},
		{HasTimeMicros, func() { m.TimeMicros = &r.TimeMicros }},
		{HasTTL, func() { m.Ttl = &r.TTL }},
		{HasSint64, func() { m.MetricSint64 = &r.Sint64 }},
		{HasD, func() { m.MetricD = &r.D }},
		{HasF, func() { m.MetricF = &r.F }},
	} {
		if r.Set&f.bit != 0 {
			f.set()
		}
	}
	for _, a := range r.Attributes {
		m.Attributes = append(m.Attributes, &pb.Attribute{Key: &a.Key, Value: &a.Value})
	}
	return m
}

// TestRecordReadsBack encodes records and reads them with protobuf and with the
// view, alone and as a field of a Msg behind others.
func TestRecordReadsBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := record().Draw(t, "record")
		b := r.AppendEvent([]byte("before"))[len("before"):]
		var got pb.Event
		if err := proto.Unmarshal(b, &got); err != nil || !proto.Equal(&got, r.message()) {
			t.Fatalf("%v: got %v, want %v", err, &got, r.message())
		}
		checkEvent(t, b)
		var m Msg
		frame := r.AppendField(r.AppendField(nil))
		if err := m.Parse(frame, 0); err != nil || m.Count != 2 || !m.Next() {
			t.Fatalf("as fields: %d events, %v", m.Count, err)
		}
		for i := range m.Events {
			sameEvent(t, &m.Events[i], &got)
		}
	})
}

func TestRecordSizes(t *testing.T) {
	for _, n := range []int{0, 124, 125, 126, 16_379, 16_380, 16_381, 2_097_145, 2_097_147} {
		r := Record{Set: HasDescription, Description: strings.Repeat("x", n)}
		var m Msg
		if err := m.Parse(r.AppendField(nil), 0); err != nil || !m.Next() || len(m.Events[0].DescriptionBytes()) != n {
			t.Errorf("a description of %d bytes: %v", n, err)
		}
	}
}

func TestRecordKeepsZeros(t *testing.T) {
	r := Record{Set: HasSint64 | HasD | HasF | HasTTL | HasTime | HasTimeMicros | HasHost, D: math.Copysign(0, -1)}
	e := parsed(t, &r)
	if e.Set != r.Set || e.HostBytes() == nil || !math.Signbit(e.D) {
		t.Errorf("set %b became %b, host %v, d %v", r.Set, e.Set, e.HostBytes(), e.D)
	}
}
