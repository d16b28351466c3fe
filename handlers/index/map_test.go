package index

import (
	"slices"
	"testing"

	"darboux/handlers/riemann"
)

// matchAll is a query that matches every event.
type matchAll struct{}

func (matchAll) Match(*riemann.Event) bool { return true }

// eventOf encodes and views an event.
func eventOf(t testing.TB, r riemann.Record) riemann.Event {
	t.Helper()
	var e riemann.Event
	if err := e.Parse(r.AppendEvent(nil)); err != nil {
		t.Fatal(err)
	}
	return e
}

// found are the hosts of all events that a search in slices finds, sorted.
func found(t testing.TB, s Store, q Matcher, slice int) []string {
	t.Helper()
	hosts := []string{}
	for cur := (Cursor{Slice: slice}); !cur.Done; {
		var m riemann.Msg
		if err := m.Parse(s.Search(q, &cur, nil, 0), 0); err != nil {
			t.Fatal(err)
		}
		for m.Next() {
			for i := range m.Events {
				hosts = append(hosts, string(m.Events[i].HostBytes()))
			}
		}
	}
	slices.Sort(hosts)
	return hosts
}

func TestKeepsLastOfEachKey(t *testing.T) {
	const now = 1_000_000_000_000_000
	cfg := Config{Shards: 4, DefaultTTL: 60}
	for name, s := range map[string]Store{"map": NewMap(cfg), "index": newIndex(t, cfg)} {
		t.Run(name, func(t *testing.T) { keepsLast(t, s, now) })
	}
}

func keepsLast(t *testing.T, m Store, now int64) {
	events := []riemann.Event{
		eventOf(t, riemann.Record{Host: "a", Service: "s", State: "ok"}),
		eventOf(t, riemann.Record{Host: "b", Service: "s", State: "ok"}),
		eventOf(t, riemann.Record{Host: "a", Service: "s", State: "critical"}),
		eventOf(t, riemann.Record{Service: "s"}),
		eventOf(t, riemann.Record{Set: riemann.HasHost, Service: "s"}),
		eventOf(t, riemann.Record{Host: "b", Service: "s", State: "expired"}),
	}
	if n := m.Apply(events, now, make([]bool, len(events))); n != 0 {
		t.Fatalf("%d events were refused", n)
	}
	if got, want := found(t, m, matchAll{}, 1), []string{"", "", "a"}; !slices.Equal(got, want) {
		t.Errorf("found hosts %q, want %q", got, want)
	}
	if n := m.Expire(now + 60e6); n != 0 {
		t.Errorf("%d entries expired at their deadline", n)
	}
	if n := m.Expire(now + 60e6 + 1); n != 3 {
		t.Errorf("%d entries expired behind their deadline, want 3", n)
	}
	if got := m.Stats(); got.Entries != 0 || got.StoredBytes != 0 {
		t.Errorf("an empty store has %+v", got)
	}
}
