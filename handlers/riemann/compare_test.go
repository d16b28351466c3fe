package riemann

import (
	"bytes"
	"math"

	"google.golang.org/protobuf/proto"

	"darboux/handlers/riemann/pb"
)

// tester is what the checks need of a testing.T or a rapid.T.
type tester interface {
	Helper()
	Errorf(format string, args ...any)
	Fatalf(format string, args ...any)
}

// sameEvent fails unless the view sees exactly what protobuf decoded.
func sameEvent(t tester, e *Event, want *pb.Event) {
	t.Helper()
	texts := []struct {
		name string
		got  []byte
		want *string
	}{
		{"host", e.HostBytes(), want.Host},
		{"service", e.ServiceBytes(), want.Service},
		{"state", e.StateBytes(), want.State},
		{"description", e.DescriptionBytes(), want.Description},
	}
	for _, f := range texts {
		if (f.got != nil) != (f.want != nil) || f.want != nil && string(f.got) != *f.want {
			t.Errorf("%s: view %q, protobuf %v", f.name, f.got, f.want)
		}
	}
	numbers := []struct {
		name      string
		bit       Fields
		got, want uint64
		present   bool
	}{
		{"time", HasTime, uint64(e.Time), uint64(want.GetTime()), want.Time != nil},
		{"time_micros", HasTimeMicros, uint64(e.TimeMicros), uint64(want.GetTimeMicros()), want.TimeMicros != nil},
		{"sint64", HasSint64, uint64(e.Sint64), uint64(want.GetMetricSint64()), want.MetricSint64 != nil},
		{"d", HasD, math.Float64bits(e.D), math.Float64bits(want.GetMetricD()), want.MetricD != nil},
		{"f", HasF, uint64(math.Float32bits(e.F)), uint64(math.Float32bits(want.GetMetricF())), want.MetricF != nil},
		{"ttl", HasTTL, uint64(math.Float32bits(e.TTL)), uint64(math.Float32bits(want.GetTtl())), want.Ttl != nil},
		{"state bit", HasState, 0, 0, want.State != nil},
		{"service bit", HasService, 0, 0, want.Service != nil},
		{"host bit", HasHost, 0, 0, want.Host != nil},
		{"description bit", HasDescription, 0, 0, want.Description != nil},
		{"tags bit", HasTags, 0, 0, len(want.Tags) > 0},
		{"attributes bit", HasAttributes, 0, 0, len(want.Attributes) > 0},
	}
	for _, f := range numbers {
		if (e.Set&f.bit != 0) != f.present || f.got != f.want {
			t.Errorf("%s: view %v %#x, protobuf %v %#x", f.name, e.Set&f.bit != 0, f.got, f.present, f.want)
		}
	}
	sameLists(t, e, want)
}

// sameLists compares tags and attributes, in their order.
func sameLists(t tester, e *Event, want *pb.Event) {
	t.Helper()
	n := 0
	for it := e.Tags(); it.Next(); n++ {
		if n < len(want.Tags) && string(it.Tag) != want.Tags[n] {
			t.Errorf("tag %d: view %q, protobuf %q", n, it.Tag, want.Tags[n])
		}
	}
	if n != len(want.Tags) {
		t.Errorf("tags: view %d, protobuf %d", n, len(want.Tags))
	}
	n = 0
	for it := e.Attributes(); it.Next(); n++ {
		if n < len(want.Attributes) {
			if a := want.Attributes[n]; string(it.Key) != a.GetKey() || string(it.Value) != a.GetValue() {
				t.Errorf("attribute %d: view %q = %q, protobuf %v", n, it.Key, it.Value, a)
			}
		}
	}
	if n != len(want.Attributes) {
		t.Errorf("attributes: view %d, protobuf %d", n, len(want.Attributes))
	}
}

// checkEvent parses b both ways and fails where they differ.
func checkEvent(t tester, b []byte) {
	t.Helper()
	var e Event
	var want pb.Event
	err, wantErr := e.Parse(b), proto.Unmarshal(b, &want)
	if (err == nil) != (wantErr == nil) {
		t.Fatalf("%x: view says %v, protobuf %v", b, err, wantErr)
	}
	if err == nil {
		sameEvent(t, &e, &want)
	}
}

// checkMsg parses b both ways and fails where they differ.
func checkMsg(t tester, m *Msg, b []byte) {
	t.Helper()
	var want pb.Msg
	err, wantErr := m.Parse(b, 0), proto.Unmarshal(b, &want)
	if (err == nil) != (wantErr == nil) {
		t.Fatalf("%x: view says %v, protobuf %v", b, err, wantErr)
	}
	if err != nil {
		return
	}
	n := 0
	for m.Next() {
		for i := range m.Events {
			sameEvent(t, &m.Events[i], want.Events[n])
			n++
		}
	}
	if n != len(want.Events) || m.Count != n || m.States != len(want.States) {
		t.Errorf("view: %d events (Count %d), %d states; protobuf: %d, %d", n, m.Count, m.States, len(want.Events), len(want.States))
	}
	if m.HasQuery != (want.Query != nil) || string(m.Query) != want.GetQuery().GetString_() {
		t.Errorf("query: view %v %q, protobuf %v", m.HasQuery, m.Query, want.Query)
	}
	if Asks(b) != m.HasQuery {
		t.Errorf("asks: %v; has a query: %v", !m.HasQuery, m.HasQuery)
	}
	if m.HasOK != (want.Ok != nil) || m.OK != want.GetOk() {
		t.Errorf("ok: view %v %v, protobuf %v", m.HasOK, m.OK, want.Ok)
	}
	if m.HasError != (want.Error != nil) || !bytes.Equal(m.Error, []byte(want.GetError())) {
		t.Errorf("error: view %v %q, protobuf %v", m.HasError, m.Error, want.Error)
	}
}
