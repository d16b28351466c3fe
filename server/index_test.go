package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"darboux/handlers/index"
	"darboux/handlers/riemann"
	"darboux/handlers/riemann/pb"
)

// A new key beyond --index-entries is refused; ok=false names the flag only if none of
// the Msg's events could be taken.
func TestIndexEntriesLimit(t *testing.T) {
	d := start(t, "--index-entries", "2")
	c := dial(t, d.addr)
	c.send(event("a", 1), event("b", 1))
	c.send(event("c", 1), event("b", 2))
	c.write(encoded(t, &pb.Msg{Events: []*pb.Event{event("c", 1), event("d", 1)}}))
	if reply := c.reply(); reply.GetOk() || !strings.Contains(reply.GetError(), "--index-entries 2 ") {
		t.Errorf("reply %v", reply)
	}
	var found []string
	for _, e := range c.query("true") {
		found = append(found, fmt.Sprint(e.GetService(), e.GetMetricSint64()))
	}
	slices.Sort(found)
	if !slices.Equal(found, []string{"a1", "b2"}) {
		t.Errorf("the index has %v", found)
	}
}

// Known keys may grow up to --index-memory; then the old values stay, and what is small
// goes on.
func TestIndexMemoryLimit(t *testing.T) {
	d := start(t, "--index-memory", "16MiB")
	c := dial(t, d.addr)
	c.send(event("small", 0))
	refused := 0
	for i := range 30 {
		large := event(fmt.Sprint("large ", i), 1)
		large.Description = proto.String(strings.Repeat("x", 1<<20-200))
		c.write(encoded(t, &pb.Msg{Events: []*pb.Event{large}}))
		if reply := c.reply(); !reply.GetOk() {
			refused++
			if !strings.Contains(reply.GetError(), "--index-memory 16777216 ") {
				t.Errorf("reply %v", reply)
			}
		}
		c.send(event("small", int64(i)))
	}
	if n := len(c.query(`service =~ "large %"`)); refused == 0 || n+refused != 30 {
		t.Errorf("%d large events were refused, and %d are there", refused, n)
	}
}

// With --newest-wins the time of an event decides, not its coming.
func TestNewestWins(t *testing.T) {
	for _, r := range []struct {
		flags []string
		want  int64
	}{{nil, 1}, {[]string{"--newest-wins"}, 2}} {
		c := dial(t, start(t, r.flags...).addr)
		newer, older := event("s", 2), event("s", 1)
		newer.Time, older.Time = proto.Int64(2_000_000_000), proto.Int64(1_900_000_000)
		c.send(newer, older)
		if e := c.one("true"); e.GetMetricSint64() != r.want {
			t.Errorf("%v: the index keeps %d, want %d", r.flags, e.GetMetricSint64(), r.want)
		}
		c.done()
	}
}

// What the notice of an expiry keeps is chosen by --expire-keep.
func TestExpireKeep(t *testing.T) {
	for keep, want := range map[string]riemann.Fields{
		"host,service": riemann.HasHost | riemann.HasService,
		"":             0,
		"all":          riemann.HasHost | riemann.HasService | riemann.HasSint64 | riemann.HasTTL,
	} {
		s := wired(t, "--expire-keep", keep, "--expire-every", "1h", "--self-events", "0")
		var notices []riemann.Fields
		s.store.Listen(func(c *index.Change) {
			if c.Kind == index.Expired {
				notices = append(notices, c.Event.Set)
			}
		})
		r := riemann.Record{Set: riemann.HasSint64 | riemann.HasTTL, Host: "h", Service: "s", Sint64: 1, TTL: 1}
		var e [1]riemann.Event
		if err := e[0].Parse(r.AppendEvent(nil)); err != nil {
			t.Fatal(err)
		}
		s.store.Apply(e[:], 1, make([]bool, 1))
		s.store.Expire(2e6)
		const always = riemann.HasState | riemann.HasTime | riemann.HasTimeMicros
		if len(notices) != 1 || notices[0] != want|always {
			t.Errorf("--expire-keep %q: notices of the fields %b, want one of %b", keep, notices, want|always)
		}
	}
}

// A signal while the snapshot is loaded ends the start.
func TestStartCanBeEnded(t *testing.T) {
	file := snapshotFile(t)
	written(t, file, 10)
	o, _, err := load([]string{"--tcp", "127.0.0.1:0", "--udp", "", "--http", "", "--snapshot", file}, nil, testMachine)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	s := newServer(o, newLogger(t.Output(), "info", "text"))
	if err := s.start(ctx); err == nil || !strings.Contains(err.Error(), "canceled") {
		t.Errorf("error %v", err)
	}
	if n := eventsIn(t, file); n != 10 {
		t.Errorf("%d events are left in the snapshot, want 10", n)
	}
	s.store.Close()
}
