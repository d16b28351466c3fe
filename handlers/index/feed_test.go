package index

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"

	"darboux/handlers/riemann"
)

// feed makes Msgs of events of about 185 bytes, as agents send them: hosts with
// ten services each, two tags, two attributes, a description. Keys come in random
// order.
type feed struct {
	entries   int // keys
	flips     int // every so manieth event, about, has state critical instead of ok; 0: none
	random    *rand.Rand
	templates [2]template
	frame     []byte
	moment    int64 // the events' time, in microseconds of the Unix epoch
}

// template is an event, and where its numbers are to be put.
type template struct {
	event           []byte
	host, service   int
	seconds, micros int
}

const (
	feedHost     = "web-0000000.fra1.example.com"
	feedService  = "disk /var/lib/d0 used"
	feedServices = 10
	feedMicros   = 1_700_000_000_123_456
	feedTTL      = 60
)

func newFeed(entries, flips int, seed uint64) *feed {
	f := &feed{entries: entries, flips: flips, random: rand.New(rand.NewPCG(seed, seed)), moment: feedMicros}
	for i, state := range []string{"ok", "critical"} {
		f.templates[i] = newTemplate(state)
	}
	return f
}

func newTemplate(state string) template {
	r := riemann.Record{
		Set:         riemann.HasTime | riemann.HasTimeMicros | riemann.HasTTL | riemann.HasD | riemann.HasF,
		Host:        feedHost,
		Service:     feedService,
		State:       state,
		Description: "42.5 % used, 18.0 GiB free of 32",
		Time:        feedMicros / 1_000_000,
		TimeMicros:  feedMicros,
		D:           0.425,
		F:           0.425,
		TTL:         feedTTL,
		Tags:        []string{"production", "storage"},
		Attributes:  []riemann.Pair{{Key: "region", Value: "eu-central"}, {Key: "rack", Value: "fra1-17"}},
	}
	event := r.AppendEvent(nil)
	e := riemann.Event{}
	if err := e.Parse(event); err != nil {
		panic(err)
	}
	return template{
		event:   event,
		host:    int(e.Host.Off) + 4,
		service: int(e.Service.Off) + 15,
		seconds: bytes.Index(event, protowire.AppendVarint(nil, feedMicros/1_000_000)),
		micros:  bytes.Index(event, protowire.AppendVarint(nil, feedMicros)),
	}
}

func TestFeedSize(t *testing.T) {
	f := newFeed(10, 0, 1)
	if n := len(f.templates[0].event); n < 183 || n > 187 {
		t.Errorf("an event of the feed has %d bytes, but results speak of about 185", n)
	}
}

// msg is the body of a Msg of n events. It is valid until the next call.
func (f *feed) msg(n int) []byte {
	f.frame = f.frame[:0]
	for range n {
		f.add(f.random.IntN(f.entries))
	}
	return f.frame
}

// run is the body of a Msg of the events of n keys in their order.
func (f *feed) run(first, n int) []byte {
	f.frame = f.frame[:0]
	for i := range n {
		f.add(first + i)
	}
	return f.frame
}

func (f *feed) add(key int) {
	t := &f.templates[0]
	if f.flips > 0 && f.random.IntN(f.flips) == 0 {
		t = &f.templates[1]
	}
	f.frame = riemann.AppendEventField(f.frame, t.event)
	b := f.frame[len(f.frame)-len(t.event):]
	n := key / feedServices
	for i := 6; i >= 0; i-- {
		b[t.host+i] = '0' + byte(n%10)
		n /= 10
	}
	b[t.service] = '0' + byte(key%feedServices)
	protowire.AppendVarint(b[:t.seconds], uint64(f.moment/1_000_000))
	protowire.AppendVarint(b[:t.micros], uint64(f.moment))
}

// applyMsg walks a Msg and applies its events.
func applyMsg(tb testing.TB, s Store, m *riemann.Msg, body []byte, now int64, refused []bool) {
	if err := m.Parse(body, 0); err != nil {
		tb.Fatal(err)
	}
	for m.Next() {
		if n := s.Apply(m.Events, now, refused[:len(m.Events)]); n > 0 {
			tb.Fatal(fmt.Sprint(n, " events refused: ", s.WhyRefused()))
		}
	}
}

// fill gives s all keys once.
func (f *feed) fill(tb testing.TB, s Store, now int64) {
	var m riemann.Msg
	refused := make([]bool, 100)
	for first := 0; first < f.entries; first += 100 {
		applyMsg(tb, s, &m, f.run(first, min(100, f.entries-first)), now, refused)
	}
}
