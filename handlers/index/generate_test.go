package index

import (
	"fmt"
	"math"
	"pgregory.net/rapid"
	"strings"

	"darboux/handlers/riemann"
)

// texts generates a value of a small set, or none: so that keys and terms meet.
func texts(values ...string) *rapid.Generator[*string] {
	return rapid.Custom(func(t *rapid.T) *string {
		i := rapid.IntRange(-1, len(values)-1).Draw(t, "text")
		if i < 0 {
			return nil
		}
		return &values[i]
	})
}

var (
	hosts        = texts("", "a", "b", "c", "web-017.fra1.example.com")
	services     = texts("", "s", "t", "disk /var/lib used")
	states       = texts("", "ok", "critical", "ok", "critical", "expired")
	descriptions = rapid.SampledFrom([]int{0, 0, 1, 5, 17, 40, 40, 300, 3_000, 25_000, 70_000})
	ttls         = rapid.SampledFrom([]float32{0, 1, 5, 10, 10, 20, -1, float32(math.NaN()), float32(math.Inf(1)), 1e38})
	tagTexts     = rapid.SampledFrom([]string{"", "x", "y", "production", "storage", strings.Repeat("long", 50)})
)

// recordOf draws an event as clients send them, at about now.
func recordOf(t *rapid.T, now int64) riemann.Record {
	var r riemann.Record
	set := func(bit riemann.Fields, to *string, g *rapid.Generator[*string], name string) {
		if v := g.Draw(t, name); v != nil {
			*to, r.Set = *v, r.Set|bit
		}
	}
	set(riemann.HasHost, &r.Host, hosts, "host")
	set(riemann.HasService, &r.Service, services, "service")
	set(riemann.HasState, &r.State, states, "state")
	r.Description = strings.Repeat("d", descriptions.Draw(t, "description"))
	if rapid.Bool().Draw(t, "ttl set") {
		r.TTL, r.Set = ttls.Draw(t, "ttl"), r.Set|riemann.HasTTL
	}
	moment := now + rapid.Int64Range(-15, 15).Draw(t, "seconds off")*1_000_000
	switch rapid.IntRange(0, 4).Draw(t, "time") {
	case 0:
		r.Time, r.Set = moment/1_000_000, r.Set|riemann.HasTime
	case 1:
		r.TimeMicros, r.Set = moment, r.Set|riemann.HasTimeMicros
	}
	if rapid.Bool().Draw(t, "metric") {
		r.Sint64, r.Set = rapid.Int64().Draw(t, "sint64"), r.Set|riemann.HasSint64
	}
	r.Tags = rapid.SliceOfN(tagTexts, 0, 4).Draw(t, "tags")
	if rapid.IntRange(0, 20).Draw(t, "many tags") == 0 {
		for i := range rapid.IntRange(mostTags-1, mostTags+2).Draw(t, "how many") {
			r.Tags = append(r.Tags, strings.Repeat("t", i))
		}
	}
	return r
}

// wire is the bytes of an event. A test that fails shows them in short.
type wire []byte

func (w wire) GoString() string {
	var e riemann.Event
	if err := e.Parse(w); err != nil {
		return err.Error()
	}
	return fmt.Sprintf("event of %d bytes, fields %b, host %q, service %q, state %q, %d bytes of description, ttl %v, tags %.40q",
		len(w), e.Set, e.HostBytes(), e.ServiceBytes(), e.StateBytes(), e.Description.Len, e.TTL, tagsOf(&e))
}

// wires generates the wire bytes of events. Sometimes they are those of two, one
// after the other, which protobuf takes for one event.
func wires(now int64) *rapid.Generator[wire] {
	return rapid.Custom(func(t *rapid.T) wire {
		r := recordOf(t, now)
		b := r.AppendEvent(nil)
		if rapid.IntRange(0, 9).Draw(t, "doubled") == 0 {
			r := recordOf(t, now)
			b = r.AppendEvent(b)
		}
		return b
	})
}

// fataler is a *testing.T or a *rapid.T.
type fataler interface{ Fatal(args ...any) }

// viewed views wire bytes.
func viewed(t fataler, wires ...wire) []riemann.Event {
	events := make([]riemann.Event, len(wires))
	for i := range events {
		if err := events[i].Parse(wires[i]); err != nil {
			t.Fatal(err)
		}
	}
	return events
}
