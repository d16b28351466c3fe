package main

import (
	"bytes"
	"net"
	"strconv"
	"sync/atomic"
	"testing"

	"darboux/frame"
	"darboux/handlers"
	"darboux/handlers/riemann"
)

// A goneWatch stands between the handlers and what they work with, and counts what is
// begun for nobody: frames and slices of bursts that the loop has marked gone.
type goneWatch struct {
	*handlers.Riemann
	late    atomic.Int64 // frames and slices that were begun when the burst was gone
	stopped atomic.Int64 // times a burst that was gone was looked at
}

// watched is the protocol with workers that are watched.
func (g *goneWatch) watched() *frame.Protocol {
	p := g.Protocol()
	newWorker := p.NewWorker
	p.NewWorker = func() frame.Worker { return &watchedWorker{g, newWorker()} }
	return p
}

type watchedWorker struct {
	*goneWatch
	frame.Worker
}

// Work counts what the worker begins, if the burst is gone before. There is one handler,
// and one client, so nobody else counts meanwhile.
func (w *watchedWorker) Work(b *frame.Burst) frame.Status {
	if !b.Gone() {
		return w.Worker.Work(b)
	}
	before := w.begun()
	status := w.Worker.Work(b)
	w.late.Add(w.begun() - before)
	w.stopped.Add(1)
	return status
}

// begun is how many frames and slices were begun.
func (g *goneWatch) begun() (n int64) {
	for _, s := range append(g.Stats(), g.QueryLog.Stats()...) {
		if s.Name == "msgs" || s.Name == "query slices" {
			n += s.Value
		}
	}
	return n
}

// Once the loop has marked a burst gone, no frame and no slice of it is begun, and the
// handlers become idle.
func TestNothingIsBegunForAGoneClient(t *testing.T) {
	const scans, entries = 10_000, 30_000 // more than one slice looks at
	s := newServer(optionsOf(t), newLogger(t.Output(), "info", "text"))
	t.Cleanup(s.store.Close)
	fillIndex(s, entries)
	g := &goneWatch{Riemann: s.riemann}
	protocols := []*frame.Protocol{g.watched()}
	ring := frame.NewRing[*frame.Burst](64)
	loops := startOwnLoops(t, s.loopConfig(ring, protocols), 1)
	stat := func(name string) int64 {
		for _, s := range append(append(loops.Stats(), g.Stats()...), g.QueryLog.Stats()...) {
			if s.Name == name {
				return s.Value
			}
		}
		panic("no counter is called " + name)
	}

	// Sometimes the burst is not with the handlers when the client goes; then it is not
	// seen to be gone.
	for rounds := 0; g.stopped.Load() < 3; rounds++ {
		if rounds == 200 {
			t.Fatalf("a burst was found to be gone %d times in %d rounds", g.stopped.Load(), rounds)
		}
		worked := stat("query slices")
		c := dial(t, loops.addr)
		go func() {
			ask := bytes.Repeat(framed(riemann.AppendQueryField(nil, `description = "none"`)), scans)
			_, _ = c.Write(ask) // the reset ends it, sooner or later
		}()
		limit := newDeadline(t)
		for stat("query slices") < worked+10 {
			limit.check("the queries are not worked")
		}
		if err := c.Conn.(*net.TCPConn).SetLinger(0); err != nil {
			t.Fatal(err)
		}
		c.done()
		for stat("connections") > 0 || stat("bursts out") > 0 {
			limit.check("the handlers do not become idle")
		}
	}
	if n := g.late.Load(); n != 0 {
		t.Errorf("%d frames and slices were begun for nobody", n)
	}
	if n := stat("msgs"); n >= scans {
		t.Errorf("%d Msgs were begun, though nobody waited for more than a few", n)
	}
	loops.end(t)
}

// optionsOf returns checked settings for a server of the test's own.
func optionsOf(t *testing.T, flags ...string) *Options {
	t.Helper()
	o, _, err := load(append([]string{"--tcp", "127.0.0.1:0", "--udp", "", "--http", "", "--loops", "1"}, flags...), nil, testMachine)
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// fillIndex puts so many entries into the index.
func fillIndex(s *server, entries int) {
	var refused [1]bool
	for i := range entries {
		r := riemann.Record{Set: riemann.HasSint64 | riemann.HasTTL, Host: "h", Service: strconv.Itoa(i), Sint64: int64(i), TTL: 3600}
		var e [1]riemann.Event
		if err := e[0].Parse(r.AppendEvent(nil)); err != nil {
			panic(err)
		}
		s.store.Apply(e[:], handlers.Micros(), refused[:])
	}
}
