package riemann

import (
	"bytes"
	"math"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"

	"darboux/handlers/riemann/pb"
)

// storedModel is the event that replies must carry for sent, said with
// protobuf's own types.
func storedModel(sent *pb.Event, now int64, ttl float32) *pb.Event {
	want := proto.Clone(sent).(*pb.Event)
	switch {
	case sent.TimeMicros != nil:
		want.Time = proto.Int64(*sent.TimeMicros / 1_000_000)
	case sent.Time != nil:
		want.TimeMicros = proto.Int64(saturated(*sent.Time))
	default:
		want.Time, want.TimeMicros = proto.Int64(now/1_000_000), proto.Int64(now)
	}
	switch {
	case sent.MetricSint64 != nil:
		want.MetricD, want.MetricF = nil, proto.Float32(float32(*sent.MetricSint64))
	case sent.MetricD != nil:
		want.MetricF = proto.Float32(float32(*sent.MetricD))
	case sent.MetricF != nil:
		want.MetricD = proto.Float64(float64(*sent.MetricF))
	}
	if sent.Ttl == nil {
		want.Ttl = proto.Float32(ttl)
	}
	return want
}

// saturated is seconds in microseconds, as far as int64 goes.
func saturated(seconds int64) int64 {
	us := seconds * 1_000_000
	if us/1_000_000 == seconds {
		return us
	}
	if seconds < 0 {
		return math.MinInt64
	}
	return math.MaxInt64
}

// checkStored stores the event whose bytes are b and fails if what replies
// would carry, or what queries would see, is not what was promised.
func checkStored(t tester, b []byte, now int64, ttl float32) {
	t.Helper()
	var e, back Event
	var sent, got pb.Event
	if e.Parse(b) != nil || proto.Unmarshal(b, &sent) != nil {
		return
	}
	stored := e.AppendStored([]byte("before"), now, ttl)
	if !bytes.HasPrefix(stored, []byte("before")) {
		t.Fatalf("what stood in dst was overwritten")
	}
	stored = stored[len("before"):]
	if err := proto.Unmarshal(stored, &got); err != nil {
		t.Fatalf("stored form %x of %x: %v", stored, b, err)
	}
	if want := storedModel(&sent, now, ttl); !sameMessage(&got, want) {
		t.Errorf("stored form of %v:\n got %v\nwant %v", &sent, &got, want)
	}
	if len(stored) > len(b)+StoredExtra {
		t.Errorf("%d bytes became %d stored", len(b), len(stored))
	}
	if e.RawIsPrefix() && !bytes.HasPrefix(stored, b) {
		t.Errorf("stored form %x does not begin with %x", stored, b)
	}
	if err := back.ParseStored(stored, e.Kept()); err != nil {
		t.Fatalf("stored form %x of %x: %v", stored, b, err)
	}
	sameAnswers(t, &back, &e, now, ttl)
	if again := back.AppendStored(nil, now+1, ttl+1); !bytes.Equal(again, stored) {
		t.Errorf("stored again, %x became %x", stored, again)
	}
	checkOnce(t, stored)
	checkFieldViews(t, stored, &back)
}

// sameMessage compares field by field, NaN being equal to NaN, unknown fields
// byte by byte.
func sameMessage(a, b *pb.Event) bool {
	for _, m := range []*pb.Event{a, b} {
		if m.MetricD != nil && math.IsNaN(*m.MetricD) {
			m.MetricD = proto.Float64(math.NaN())
		}
		if m.MetricF != nil && math.IsNaN(float64(*m.MetricF)) {
			m.MetricF = proto.Float32(float32(math.NaN()))
		}
	}
	return proto.Equal(a, b)
}

// sameAnswers fails unless the stored event back answers as the received event
// e did, with the time of receipt and the default ttl where e had none.
func sameAnswers(t tester, back, e *Event, now int64, ttl float32) {
	t.Helper()
	if !sameNumber(back.Metric(), e.Metric()) {
		t.Errorf("metric: stored %v, received %v", back.Metric(), e.Metric())
	}
	wantTime, wantTTL := e.TimeNumber(), e.TTLNumber()
	if wantTime.Kind == Absent {
		wantTime = Number{Kind: Float, Float: float64(now) / 1e6}
	}
	if wantTTL.Kind == Absent && float64(ttl) == math.Trunc(float64(ttl)) && ttl < 1e18 {
		wantTTL = Number{Kind: Integer, Int: int64(ttl)}
	} else if wantTTL.Kind == Absent {
		wantTTL = Number{Kind: Float, Float: float64(ttl)}
	}
	if !sameNumber(back.TimeNumber(), wantTime) || !sameNumber(back.TTLNumber(), wantTTL) {
		t.Errorf("time %v, ttl %v; want %v, %v", back.TimeNumber(), back.TTLNumber(), wantTime, wantTTL)
	}
	if back.At(now+5) != e.At(now) || back.Deadline(now+5, ttl+5) != e.Deadline(now, ttl) {
		t.Errorf("stored: at %d, deadline %d; received: %d, %d",
			back.At(now+5), back.Deadline(now+5, ttl+5), e.At(now), e.Deadline(now, ttl))
	}
	if back.Set != e.Set|IsStored || back.IsExpired() != e.IsExpired() {
		t.Errorf("stored: set %b, expired %v; received: %b, %v", back.Set, back.IsExpired(), e.Set, e.IsExpired())
	}
}

func sameNumber(a, b Number) bool {
	return a.Kind == b.Kind && a.Int == b.Int && math.Float64bits(a.Float) == math.Float64bits(b.Float)
}

// checkOnce fails if a singular field stands more than once in a stored form.
func checkOnce(t tester, stored []byte) {
	t.Helper()
	var seen Fields
	for len(stored) > 0 {
		num, typ, n := protowire.ConsumeField(stored)
		stored = stored[n:]
		bit := fieldOf(protowire.EncodeTag(num, typ)) &^ (HasTags | HasAttributes)
		if seen&bit != 0 {
			t.Errorf("field %d stands twice in the stored form", num)
		}
		seen |= bit
	}
}

// checkFieldViews compares views of single fields, of two and of all with the
// whole view.
func checkFieldViews(t tester, stored []byte, whole *Event) {
	t.Helper()
	wants := []Fields{AllFields, ^Fields(0)}
	for bit := Fields(1); bit <= HasAttributes; bit <<= 1 {
		wants = append(wants, bit, bit|HasState, bit|HasD)
	}
	var e Event
	for _, want := range wants {
		if err := e.ParseStoredFields(stored, whole.Set, want); err != nil {
			t.Errorf("view of fields %b: %v", want, err)
			continue
		}
		for bit := Fields(1); bit <= HasAttributes; bit <<= 1 {
			if want&bit != 0 && !sameField(&e, whole, bit) {
				t.Errorf("a view of fields %b sees another field %b than the whole view", want, bit)
			}
		}
	}
}

// sameField compares a field as readers see it; any metric kind stands for the
// metric, either time for the time.
func sameField(a, b *Event, field Fields) bool {
	switch field {
	case HasHost:
		return sameText(a.HostBytes(), b.HostBytes())
	case HasService:
		return sameText(a.ServiceBytes(), b.ServiceBytes())
	case HasState:
		return sameText(a.StateBytes(), b.StateBytes())
	case HasDescription:
		return sameText(a.DescriptionBytes(), b.DescriptionBytes())
	case HasTags, HasAttributes:
		return sameElements(a, b, field)
	case HasTTL:
		return sameNumber(a.TTLNumber(), b.TTLNumber())
	case HasTime, HasTimeMicros:
		return sameNumber(a.TimeNumber(), b.TimeNumber())
	}
	return sameNumber(a.Metric(), b.Metric())
}

func sameText(a, b []byte) bool { return (a == nil) == (b == nil) && bytes.Equal(a, b) }

func sameElements(a, b *Event, want Fields) bool {
	if want == HasTags {
		x, y := a.Tags(), b.Tags()
		for x.Next() {
			if !y.Next() || !bytes.Equal(x.Tag, y.Tag) {
				return false
			}
		}
		return !y.Next()
	}
	x, y := a.Attributes(), b.Attributes()
	for x.Next() {
		if !y.Next() || !bytes.Equal(x.Key, y.Key) || !bytes.Equal(x.Value, y.Value) {
			return false
		}
	}
	return !y.Next()
}

func TestStoredForm(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := wireEvent().Draw(t, "event")
		now := rapid.Int64Range(-1<<50, 1<<52).Draw(t, "now")
		ttl := rapid.SampledFrom([]float32{60, 0, 1.5, 1e30, float32(math.Inf(1))}).Draw(t, "ttl")
		checkStored(t, b, now, ttl)
	})
}

// TestRawIsPrefix holds the ordinary cases to being stored by one copy.
func TestRawIsPrefix(t *testing.T) {
	nan := math.NaN()
	for name, c := range map[string]struct {
		r    Record
		want bool
	}{
		"nothing set":                {Record{}, true},
		"sint64":                     {Record{Set: HasSint64, Sint64: 5}, true},
		"sint64 and its f":           {Record{Set: HasSint64 | HasF, Sint64: 1<<24 + 1, F: 1 << 24}, true},
		"sint64 and another f":       {Record{Set: HasSint64 | HasF, Sint64: 5, F: 6}, false},
		"sint64 and d":               {Record{Set: HasSint64 | HasD, Sint64: 5, D: 5}, false},
		"d and its f":                {Record{Set: HasD | HasF, D: 0.1, F: 0.1}, true},
		"d and another f":            {Record{Set: HasD | HasF, D: 0.1, F: 0.2}, false},
		"d and f, no numbers":        {Record{Set: HasD | HasF, D: nan, F: float32(nan)}, true},
		"d beyond f's range":         {Record{Set: HasD | HasF, D: 1e300, F: float32(math.Inf(1))}, true},
		"f alone":                    {Record{Set: HasF, F: 0.1}, true},
		"both times":                 {Record{Set: HasTime | HasTimeMicros, Time: 1, TimeMicros: 1_999_999}, true},
		"both times, before 1970":    {Record{Set: HasTime | HasTimeMicros, Time: -1, TimeMicros: -1_999_999}, true},
		"both times, time rounded":   {Record{Set: HasTime | HasTimeMicros, Time: 2, TimeMicros: 1_999_999}, false},
		"everything, as agents send": {*typical(), true},
	} {
		if got := parsed(t, &c.r).RawIsPrefix(); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

func FuzzStored(f *testing.F) {
	f.Fuzz(func(t *testing.T, b []byte, now int64, ttl float32) {
		if ttl != ttl {
			return // a default that is no number is refused when flags are read
		}
		checkStored(t, b, now, ttl)
	})
}
