package riemann

import (
	"math"
	"math/big"
	"testing"

	"pgregory.net/rapid"
)

func TestMetric(t *testing.T) {
	r := Record{Sint64: 7, D: 8.5, F: 9.5}
	for set, want := range map[Fields]Number{
		0:                          {},
		HasSint64:                  {Kind: Integer, Int: 7},
		HasD:                       {Kind: Float, Float: 8.5},
		HasF:                       {Kind: Float, Float: 9.5},
		HasD | HasF:                {Kind: Float, Float: 8.5},
		HasSint64 | HasF:           {Kind: Integer, Int: 7},
		HasSint64 | HasD | HasF:    {Kind: Integer, Int: 7},
		HasTime | HasTTL | HasTags: {},
	} {
		r.Set = set
		if got := parsed(t, &r).Metric(); got != want {
			t.Errorf("set %b: %v, want %v", set, got, want)
		}
	}
	r = Record{Set: HasF, F: 0.1}
	if got := parsed(t, &r).Metric().Float; got == 0.1 || got != 0.10000000149011612 {
		t.Errorf("metric_f of 0.1 is %v", got)
	}
}

// parsed is the view of r, received.
func parsed(t *testing.T, r *Record) *Event {
	t.Helper()
	var e Event
	if err := e.Parse(r.AppendEvent(nil)); err != nil {
		t.Fatal(err)
	}
	return &e
}

// kept is the view of r, stored and read again.
func kept(t *testing.T, r *Record, now int64, ttl float32) *Event {
	t.Helper()
	e := parsed(t, r)
	var back Event
	if err := back.ParseStored(e.AppendStored(nil, now, ttl), e.Kept()); err != nil {
		t.Fatal(err)
	}
	return &back
}

func TestTimeNumber(t *testing.T) {
	const now = 5_250_000
	float := func(f float64) Number { return Number{Kind: Float, Float: f} }
	for _, c := range []struct {
		set              Fields
		received, stored Number
		at               int64
	}{
		{0, Number{}, float(5.25), now},
		{HasTime, Number{Kind: Integer, Int: 2}, Number{Kind: Integer, Int: 2}, 2_000_000},
		{HasTimeMicros, float(1.5), float(1.5), 1_500_000},
		{HasTime | HasTimeMicros, float(1.5), float(1.5), 1_500_000},
	} {
		r := Record{Set: c.set, Time: 2, TimeMicros: 1_500_000}
		e, k := parsed(t, &r), kept(t, &r, now, 60)
		if e.TimeNumber() != c.received || k.TimeNumber() != c.stored {
			t.Errorf("set %b: received %v, stored %v; want %v, %v", c.set, e.TimeNumber(), k.TimeNumber(), c.received, c.stored)
		}
		if e.At(now) != c.at || k.At(now+1) != c.at {
			t.Errorf("set %b: at %d, stored %d; want %d", c.set, e.At(now), k.At(now+1), c.at)
		}
	}
}

func TestTTLNumber(t *testing.T) {
	for _, c := range []struct {
		name             string
		r                Record
		ttl              float32 // default
		received, stored Number
	}{
		{"the client's", Record{Set: HasTTL, TTL: 60}, 60, Number{Kind: Float, Float: 60}, Number{Kind: Float, Float: 60}},
		{"the client's 0.1", Record{Set: HasTTL, TTL: 0.1}, 60, Number{Kind: Float, Float: 0.10000000149011612}, Number{Kind: Float, Float: 0.10000000149011612}},
		{"default", Record{}, 60, Number{}, Number{Kind: Integer, Int: 60}},
		{"default of half a second", Record{}, 0.5, Number{}, Number{Kind: Float, Float: 0.5}},
		{"no expiry by default", Record{}, float32(math.Inf(1)), Number{}, Number{Kind: Float, Float: math.Inf(1)}},
	} {
		e, k := parsed(t, &c.r), kept(t, &c.r, 1, c.ttl)
		if e.TTLNumber() != c.received || k.TTLNumber() != c.stored {
			t.Errorf("%s: received %v, stored %v; want %v, %v", c.name, e.TTLNumber(), k.TTLNumber(), c.received, c.stored)
		}
	}
}

func TestDeadline(t *testing.T) {
	inf, nan := float32(math.Inf(1)), float32(math.NaN())
	for _, c := range []struct {
		name string
		at   int64
		ttl  float32
		want int64
	}{
		{"a minute", 1_000_000, 60, 61_000_000},
		{"half a second", 0, 0.5, 500_000},
		{"less than a microsecond", 7, 1e-7, 7},
		{"0.1 as a float is a bit more", 0, 0.1, 100_000},
		{"none", 7, 0, 7},
		{"no number", 7, nan, 7},
		{"infinite", 7, inf, Never},
		{"1e38", 7, 1e38, Never},
		{"negative", 5_000_000, -2, 3_000_000},
		{"a little negative", 7, -1e-7, 6},
		{"minus infinite", 7, -inf, math.MinInt64},
		{"minus 1e38", 7, -1e38, math.MinInt64},
		{"at the end of time", math.MaxInt64, 1, Never},
		{"at the beginning of time", math.MinInt64, -1, math.MinInt64},
	} {
		r := Record{Set: HasTimeMicros | HasTTL, TimeMicros: c.at, TTL: c.ttl}
		if got := parsed(t, &r).Deadline(99, 60); got != c.want {
			t.Errorf("%s: %d, want %d", c.name, got, c.want)
		}
	}
	if got := parsed(t, &Record{}).Deadline(1_000_000, 60); got != 61_000_000 {
		t.Errorf("with neither time nor ttl: %d", got)
	}
	for seconds, want := range map[int64]int64{2: 62_000_000, math.MaxInt64: Never, math.MinInt64: math.MinInt64 + 60_000_000} {
		r := Record{Set: HasTime, Time: seconds}
		if got := parsed(t, &r).Deadline(99, 60); got != want {
			t.Errorf("at %d s: %d, want %d", seconds, got, want)
		}
	}
}

// TestDeadlineExactly compares with ttl < now - time in exact arithmetic.
func TestDeadlineExactly(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		at := rapid.Int64().Draw(t, "at")
		ttl := rapid.Float32().Draw(t, "ttl")
		deadline := addTTL(at, ttl)
		now := rapid.OneOf(rapid.Int64(), rapid.Int64Range(max(deadline, math.MinInt64+5)-5, min(deadline, Never-5)+5)).Draw(t, "now")
		exact := new(big.Rat).SetFloat64(float64(ttl)) // nil if it is no number or infinite
		if exact == nil {
			return
		}
		age := new(big.Int).Sub(big.NewInt(now), big.NewInt(at))
		exact.Mul(exact, big.NewRat(1_000_000, 1))
		want := exact.Cmp(new(big.Rat).SetInt(age)) < 0
		if deadline == Never || deadline == math.MinInt64 {
			return // held within int64: never, or at once
		}
		if got := now > deadline; got != want {
			t.Errorf("ttl %v, age %v µs: expired %v, want %v", ttl, age, got, want)
		}
	})
}

func TestCoreFieldsAreThose(t *testing.T) {
	n := 0
	for _, name := range []string{"host", "service", "state", "description", "metric", "tags", "time", "ttl",
		"metric_f", "time_micros", "attributes", "Host", ""} {
		if IsCoreField(name) {
			n++
		}
	}
	if n != 8 || IsCoreField("Host") || IsCoreField("metric_f") {
		t.Errorf("%d of the names are core fields", n)
	}
}
