package run

import (
	"sync"

	"darboux/loadtest/measure"
	"darboux/loadtest/wire"
	"darboux/loadtest/workload"
)

// lane is one of the run's connections: when it ends, the next takes its place.
// Its fields are guarded by mu; what happens in between is the reader's (serve)
// alone. mu is taken before a recorder's lock, never after.
type lane struct {
	run    *state
	record *measure.Recorder

	mu      sync.Mutex
	conn    wire.Conn // nil: not connected
	source  *workload.Source
	replies wire.Replies
	flight  flight
	waiting int64 // requests in flight

	out     workload.Outbox // requests not taken by the socket yet
	taken   int             // bytes of out that the socket has taken
	blocked bool            // true exactly when writeRest has been started and not ended: out is its
	rest    func()          // writeRest, made once
	writing sync.WaitGroup

	sentHere  int   // requests on this connection
	finishing bool  // nothing more is sent on this connection
	halfSince int64 // when the sending side was shut down; 0: it was not
	quit      ending
}

// ending is why this client ends a connection itself.
type ending uint8

const (
	goesOn    ending = iota
	completed        // everything is answered
	timedOut         // a request, or the end of the stream, took too long
)

func newLane(r *state, number int) *lane {
	l := &lane{run: r, record: r.meter.Recorder(), source: r.config.Workload.Source(number, r.config.Book)}
	l.rest = l.writeRest
	return l
}

// take reads replies from b and accounts for them. Call it locked.
func (l *lane) take(b []byte, now int64) {
	before := l.waiting
	l.record.Lock()
	l.record.Read(int64(len(b)), now)
	for len(b) > 0 {
		if acks := l.replies.Acks(b); acks > 0 {
			l.answered(int64(acks), measure.OK, now)
			b = b[6*acks:]
			continue
		}
		used, o := l.replies.Next(b)
		b = b[used:]
		switch o {
		case wire.OK:
			l.answered(1, measure.OK, now)
		case wire.Rejected:
			l.run.rejected(&l.replies)
			l.answered(1, measure.Rejected, now)
		case wire.Malformed:
			l.run.errors.note("malformed", "a reply that does not begin with ok")
			l.answered(1, measure.Malformed, now)
		}
	}
	l.record.Unlock()
	l.run.left(before - l.waiting)
}

// answered gives the n oldest requests their outcome. Call it with the recorder
// locked.
func (l *lane) answered(n int64, o measure.Outcome, now int64) {
	for n > 0 {
		if l.flight.empty() {
			l.run.unasked.Add(n)
			return
		}
		n -= l.settle(n, o, now)
	}
}

// settle gives up to n requests of the oldest group their outcome and returns
// how many they were.
func (l *lane) settle(n int64, o measure.Outcome, now int64) int64 {
	g := l.flight.front()
	n = min(n, g.n)
	e := measure.Ended{Outcome: o, Kind: g.kind, N: n, Intended: g.intended, Actual: g.actual, Now: now}
	if g.kind == workload.Events {
		e.Events = n * int64(l.run.config.Workload.Batch())
		l.source.Answered(int(n), o == measure.OK)
	}
	l.record.Ended(e)
	l.waiting -= n
	if g.n -= n; g.n == 0 {
		l.flight.pop()
	}
	return n
}

// abandon gives all requests in flight their outcome, as the connection has
// ended. Call it locked.
func (l *lane) abandon(now int64) {
	before := l.waiting
	l.record.Lock()
	for !l.flight.empty() {
		g := l.flight.front()
		l.settle(g.n, l.fate(g, now), now)
	}
	l.record.Unlock()
	l.run.left(before)
}

func (l *lane) fate(g *group, now int64) measure.Outcome {
	switch {
	case l.quit == timedOut && l.run.overdue(g, now):
		return measure.Timeout
	case l.quit != goesOn:
		return measure.Missing
	}
	return measure.Reset
}

// close ends the connection from this side; its reader notices. Call it locked.
func (l *lane) close(why ending) {
	if l.quit == goesOn {
		l.quit = why
		l.conn.Close() // the reader tells how the connection ended
	}
}
