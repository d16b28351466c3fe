package workload

import (
	"encoding/binary"
	"math"
	"strings"
	"testing"
	"time"

	"darboux/handlers/riemann/pb"

	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"
)

func plain() Config {
	return Config{
		Prefix: "load", Hosts: 10, Services: 7, EventSize: 185, TTL: time.Minute,
		Metric: "d", Times: "both", Batch: 1, Seed: 1,
	}
}

func mustNew(t testing.TB, c Config, connections int) *Workload {
	t.Helper()
	w, err := New(c, connections)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// next is a Source's next request alone.
func next(s *Source, micros int64) ([]byte, Kind) {
	var out Outbox
	kind, _ := s.Append(&out, 1, micros)
	return out.Bytes(), kind
}

// decode checks the header of one frame and decodes its Msg.
func decode(t testing.TB, frame []byte) *pb.Msg {
	t.Helper()
	if n := binary.BigEndian.Uint32(frame); int(n) != len(frame)-4 {
		t.Fatalf("header says %d bytes, %d follow", n, len(frame)-4)
	}
	var m pb.Msg
	if err := proto.Unmarshal(frame[4:], &m); err != nil {
		t.Fatal(err)
	}
	return &m
}

// Every combination decodes to what was asked for and re-encodes to the same
// bytes: so the client sends what a protobuf library would.
func TestEventsAreWhatALibraryWouldWrite(t *testing.T) {
	micros := time.Date(2026, 3, 4, 5, 6, 7, 8000, time.UTC).UnixMicro()
	for _, metric := range Metrics {
		for _, times := range Times {
			c := plain()
			c.Metric, c.Times, c.Batch, c.Tags, c.Attributes, c.EventSize = metric, times, 3, 2, 1, 400
			w := mustNew(t, c, 2)
			frame, kind := next(w.Source(1, nil), micros)
			m := decode(t, frame)
			if kind != Events || len(m.Events) != 3 || len(frame) != w.MsgBytes() {
				t.Fatalf("%s, %s: kind %d, %d events, %d bytes", metric, times, kind, len(m.Events), len(frame))
			}
			again, err := proto.MarshalOptions{Deterministic: true}.Marshal(m)
			if err != nil || string(again) != string(frame[4:]) {
				t.Errorf("%s, %s: a library writes other bytes (%v)", metric, times, err)
			}
			for i, e := range m.Events {
				checkEvent(t, w, e, metric, times, micros, int64(firstMetric+i))
			}
		}
	}
}

func checkEvent(t *testing.T, w *Workload, e *pb.Event, metric, times string, micros, number int64) {
	t.Helper()
	if _, ok := w.Key(e.GetHost(), e.GetService()); !ok {
		t.Errorf("%q, %q is no key of the workload", e.GetHost(), e.GetService())
	}
	if e.GetState() != "ok" || e.GetTtl() != 60 || len(e.Tags) != 2 || len(e.Attributes) != 1 || proto.Size(e) != 400 {
		t.Errorf("%d bytes: %v", proto.Size(e), e)
	}
	want := map[string]*pb.Event{
		"none":     {},
		"sint64":   {MetricSint64: &number},
		"d":        {MetricD: proto.Float64(float64(number))},
		"f":        {MetricF: proto.Float32(float32(number))},
		"sint64+f": {MetricSint64: &number, MetricF: proto.Float32(float32(number))},
		"d+f":      {MetricD: proto.Float64(float64(number)), MetricF: proto.Float32(float32(number))},
	}[metric]
	if times == "seconds" || times == "both" {
		want.Time = proto.Int64(micros / 1e6)
	}
	if times == "micros" || times == "both" {
		want.TimeMicros = &micros
	}
	got := &pb.Event{MetricSint64: e.MetricSint64, MetricD: e.MetricD, MetricF: e.MetricF, Time: e.Time, TimeMicros: e.TimeMicros}
	if !proto.Equal(got, want) {
		t.Errorf("%s, %s: got %v, want %v", metric, times, got, want)
	}
}

func TestEventSizeIsHitOrNamed(t *testing.T) {
	for size := 60; size < 400; size++ {
		c := plain()
		c.EventSize = size
		w, err := New(c, 1)
		if err != nil {
			if size > 75 || !strings.Contains(err.Error(), "--event-size") {
				t.Errorf("size %d: %v", size, err)
			}
			continue
		}
		frame, _ := next(w.Source(0, nil), 1_700_000_000_000_000)
		got := proto.Size(decode(t, frame).Events[0])
		// One byte less where a length's own length makes a size unreachable.
		if got > size || got < size-1 || got != w.EventBytes() {
			t.Fatalf("size %d: an event has %d bytes, EventBytes says %d", size, got, w.EventBytes())
		}
	}
}

func TestEachConnectionHasItsOwnKeys(t *testing.T) {
	for _, zipf := range []float64{0, 1.2} {
		c := plain()
		c.Zipf = zipf
		const connections = 4
		w := mustNew(t, c, connections)
		owner := map[int]int{}
		for connection := range connections {
			s := w.Source(connection, nil)
			for range 2000 {
				frame, _ := next(s, 1)
				e := decode(t, frame).Events[0]
				key, _ := w.Key(e.GetHost(), e.GetService())
				if before, known := owner[key]; known && before != connection {
					t.Fatalf("key %d is sent by connections %d and %d", key, before, connection)
				}
				owner[key] = connection
			}
		}
		if zipf == 0 && len(owner) != w.Keys() {
			t.Errorf("uniform: %d of %d keys were sent", len(owner), w.Keys())
		}
	}
}

func TestMoreConnectionsThanKeysShareThem(t *testing.T) {
	c := plain()
	c.Hosts, c.Services = 1, 2
	w := mustNew(t, c, 5)
	for connection := range 5 {
		frame, _ := next(w.Source(connection, nil), 1)
		e := decode(t, frame).Events[0]
		if key, ok := w.Key(e.GetHost(), e.GetService()); !ok || key != connection%2 {
			t.Errorf("connection %d sends key %d", connection, key)
		}
	}
}

func TestHostIsAQuotient(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		services := rapid.IntRange(1, MaxKeys).Draw(t, "services")
		key := rapid.Uint32().Draw(t, "key")
		w := Workload{reciprocal: reciprocal(services)}
		if got := w.host(key); got != key/uint32(services) {
			t.Fatalf("%d / %d gives %d", key, services, got)
		}
	})
}

// Zipf's law: with exponent s the first key is 2^s as frequent as the second
// (of the form (1+k)^-s).
func TestZipfPrefersFirstKeys(t *testing.T) {
	c := plain()
	c.Zipf = 2
	w := mustNew(t, c, 1)
	walk := w.Source(0, nil).walk
	count := map[uint32]float64{}
	for range zipfDraws {
		count[walk.next()]++
	}
	if ratio := count[0] / count[1]; math.Abs(ratio-4) > 0.3 {
		t.Errorf("key 0 is %.2f as frequent as key 1, want 4", ratio)
	}
}

func TestSeedDecidesTheSequence(t *testing.T) {
	sequence := func(seed uint64) string {
		c := plain()
		c.Seed, c.QueryShare, c.Queries = seed, 0.3, []string{`host = "{host}"`}
		s := mustNew(t, c, 3).Source(2, nil)
		var out Outbox
		for range 50 {
			s.Append(&out, 1, 1)
		}
		return string(out.Bytes())
	}
	first, again, other := sequence(1), sequence(1), sequence(2)
	if first != again || first == other {
		t.Error("the same seed must give the same requests, another seed others")
	}
}

func TestQueryShareAndPlaceholders(t *testing.T) {
	c := plain()
	c.QueryShare, c.Queries = 0.25, []string{`host = "{host}" and service = "{service}"`, "true"}
	w := mustNew(t, c, 1)
	s := w.Source(0, nil)
	texts, asked := map[string]bool{}, 0
	for range 10_000 {
		frame, kind := next(s, 1)
		if m := decode(t, frame); kind == Asks {
			asked++
			texts[m.Query.GetString_()] = true
		}
	}
	if asked < 2300 || asked > 2700 {
		t.Errorf("%d of 10000 requests are queries, want a quarter", asked)
	}
	if !texts["true"] || len(texts) < 20 {
		t.Errorf("%d different texts, want `true` and many hosts", len(texts))
	}
	for text := range texts {
		if strings.Contains(text, "{") {
			t.Errorf("a placeholder was sent: %s", text)
		}
	}
}

func TestOnlyQueries(t *testing.T) {
	c := plain()
	c.QueryShare, c.Queries = 1, []string{"true"}
	s := mustNew(t, c, 1).Source(0, nil)
	for range 100 {
		if _, kind := next(s, 1); kind != Asks {
			t.Fatal("events were sent with --query-share 1")
		}
	}
}

// The book agrees with one that decodes every frame.
func TestBook(t *testing.T) {
	c := plain()
	c.Batch, c.QueryShare, c.Queries, c.Metric = 3, 0.2, []string{"true"}, "sint64"
	w := mustNew(t, c, 2)
	book := NewBook(w)
	sent, acked := map[int]int64{}, map[int]int64{}
	for connection := range 2 {
		s := w.Source(connection, book)
		var flight []*pb.Msg
		for i := range 500 {
			frame, kind := next(s, 1)
			if m := decode(t, frame); kind == Events {
				flight = append(flight, m)
				remember(w, sent, m)
			}
			if i%7 == 0 && len(flight) > 2 {
				ok := i%3 > 0
				s.Answered(2, ok)
				for _, m := range flight[:2] {
					if ok {
						remember(w, acked, m)
					}
				}
				flight = flight[2:]
			}
		}
	}
	for key := range w.Keys() {
		if s, a := book.Key(key); s != sent[key] || a != acked[key] {
			t.Errorf("key %d: sent %d, acknowledged %d; want %d, %d", key, s, a, sent[key], acked[key])
		}
	}
}

func remember(w *Workload, list map[int]int64, m *pb.Msg) {
	for _, e := range m.Events {
		key, _ := w.Key(e.GetHost(), e.GetService())
		list[key] = e.GetMetricSint64()
	}
}

func TestAppendAllSetsEachKey(t *testing.T) {
	c := plain()
	c.Batch = 8
	w := mustNew(t, c, 1)
	all, frames := w.AppendAll(nil, 0, w.Keys(), time.Unix(1_700_000_000, 0))
	seen := map[int]bool{}
	for range frames {
		n := 4 + binary.BigEndian.Uint32(all)
		for _, e := range decode(t, all[:n]).Events {
			key, _ := w.Key(e.GetHost(), e.GetService())
			seen[key] = true
		}
		all = all[n:]
	}
	if len(all) != 0 || len(seen) != w.Keys() {
		t.Errorf("%d of %d keys, %d bytes left", len(seen), w.Keys(), len(all))
	}
}

func TestKeyKnowsOnlyItsOwn(t *testing.T) {
	w := mustNew(t, plain(), 1)
	for _, test := range []struct{ host, service string }{
		{"load-x", "service-0"}, {"load-010", "service-0"}, {"load-001", "service-9"}, {"other001", "service-0"}, {"load-1", "service-0"}, {"load-001", ""}, {"", ""},
	} {
		if key, ok := w.Key(test.host, test.service); ok {
			t.Errorf("%q, %q is taken for key %d", test.host, test.service, key)
		}
	}
}

func TestBadConfigsAreNamed(t *testing.T) {
	for _, test := range []struct {
		change func(*Config)
		want   string
	}{
		{func(c *Config) { c.Hosts = 0 }, "--hosts 0: must be 1 to"},
		{func(c *Config) { c.Services = -1 }, "--services -1"},
		{func(c *Config) { c.Hosts, c.Services = 1<<20, 1<<20 }, "at most"},
		{func(c *Config) { c.Batch = MaxBatch + 1 }, "--batch 100001: must be 1 to 100000"},
		{func(c *Config) { c.Batch, c.EventSize = 1000, 1<<20 }, "--batch 1000"},
		{func(c *Config) { c.EventSize = 20 }, "--event-size 20"},
		{func(c *Config) { c.Zipf = 1 }, "--zipf 1"},
		{func(c *Config) { c.Zipf = math.NaN() }, "--zipf NaN"},
		{func(c *Config) { c.TTL = -time.Second }, "--ttl -1s"},
		{func(c *Config) { c.Metric = "int" }, "--metric \"int\""},
		{func(c *Config) { c.Times = "" }, "--time \"\""},
		{func(c *Config) { c.QueryShare = 1.5 }, "--query-share 1.5"},
		{func(c *Config) { c.QueryShare = 0.5 }, "--query"},
		{func(c *Config) { c.Queries = []string{strings.Repeat("x", MaxQueryText+1)} }, "--query of"},
		{func(c *Config) { c.Queries = make([]string, MaxQueries+1) }, "--query is given"},
		{func(c *Config) { c.Tags = 2000 }, "--tags"},
	} {
		c := plain()
		test.change(&c)
		if _, err := New(c, 1); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("error %v, want one with %q", err, test.want)
		}
	}
	c := plain()
	c.Metric = "f"
	if err := c.Verifiable(); err == nil {
		t.Error("--metric f cannot be verified")
	}
}

func BenchmarkAppend(b *testing.B) {
	for _, metric := range []string{"d", "sint64+f"} {
		for _, batch := range []int{1, 100} {
			c := plain()
			c.Hosts, c.Services, c.Batch, c.Metric = 1000, 100, batch, metric
			s := mustNew(b, c, 8).Source(0, nil)
			b.Run(metric+"/"+map[int]string{1: "batch=1", 100: "batch=100"}[batch], func(b *testing.B) {
				b.ReportAllocs()
				var out Outbox
				for b.Loop() {
					out.Clear()
					s.Append(&out, 64, 1_700_000_000_000_000)
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*batch*64), "ns/event")
			})
		}
	}
}
