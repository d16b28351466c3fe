package measure

import (
	"sync"

	"darboux/loadtest/result"
	"darboux/loadtest/workload"
)

// Window is the measured part of a run, in ns since its start: From, included,
// to To, excluded.
type Window struct{ From, To int64 }

// Has tells whether a moment lies in the window.
func (w Window) Has(ns int64) bool { return w.From <= ns && ns < w.To }

// Outcome is how a request ended.
type Outcome uint8

// The outcomes of a request. Missing is one that the client gave up itself, by
// ending the connection.
const (
	OK Outcome = iota
	Rejected
	Malformed
	Timeout
	Reset
	Missing
)

// Ended is a group of requests of one connection that were sent together and
// ended together.
type Ended struct {
	Outcome  Outcome
	Kind     workload.Kind
	N        int64 // requests
	Events   int64 // in all of them
	Intended int64 // when they were due
	Actual   int64 // when they were sent
	Now      int64 // when their end was known
}

// Recorder takes note of requests. Its methods but Lock and Unlock want it
// locked: the lock is taken once for a batch.
type Recorder struct {
	sync.Mutex
	window   Window
	open     bool // intended and actual start differ
	interval interval
	total    Total
}

// interval is what happened since the meter last looked.
type interval struct {
	sent, ok, failed, events, bytesOut, bytesIn int64
	latency                                     [2][2]*Histogram // by kind; by measured or not
}

// Total is what happened in the whole run.
type Total struct {
	All, Measured result.Ledger
	Arrived       Arrived
	Kinds         [2]*Histogram // measured, ok, by kind, from the intended start
	Actual        *Histogram    // measured, ok, from the actual start; nil in the closed loop
	Failed        *Histogram    // measured
}

// Arrived is what came and went within the window, whenever it began.
type Arrived struct{ Msgs, Events, BytesOut, BytesIn int64 }

func newRecorder(w Window, open bool) *Recorder {
	r := &Recorder{window: w, open: open, total: newTotal(open)}
	for k := range r.interval.latency {
		for m := range r.interval.latency[k] {
			r.interval.latency[k][m] = NewHistogram()
		}
	}
	return r
}

func newTotal(open bool) Total {
	t := Total{Kinds: [2]*Histogram{NewHistogram(), NewHistogram()}, Failed: NewHistogram()}
	if open {
		t.Actual = NewHistogram()
	}
	return t
}

// Sent notes n requests of one kind that were due at intended.
func (r *Recorder) Sent(kind workload.Kind, n, events, intended int64) {
	r.interval.sent += n
	count := func(l *result.Ledger) {
		l.Sent += n
		l.Events += events
		if kind == workload.Asks {
			l.Queries += n
		}
	}
	count(&r.total.All)
	if r.window.Has(intended) {
		count(&r.total.Measured)
	}
}

// Wrote notes bytes given to the kernel.
func (r *Recorder) Wrote(bytes, now int64) {
	r.interval.bytesOut += bytes
	r.total.All.BytesOut += bytes
	if r.window.Has(now) {
		r.total.Measured.BytesOut += bytes
		r.total.Arrived.BytesOut += bytes
	}
}

// Read notes bytes that came from the server.
func (r *Recorder) Read(bytes, now int64) {
	r.interval.bytesIn += bytes
	r.total.All.BytesIn += bytes
	if r.window.Has(now) {
		r.total.Measured.BytesIn += bytes
		r.total.Arrived.BytesIn += bytes
	}
}

// Ended notes the end of requests.
func (r *Recorder) Ended(e Ended) {
	measured := r.window.Has(e.Intended)
	count(&r.total.All, &e)
	if measured {
		count(&r.total.Measured, &e)
	}
	if e.Outcome != OK {
		r.interval.failed += e.N
		if measured && e.Outcome != Missing {
			r.total.Failed.Record(e.Now-e.Intended, e.N)
		}
		return
	}
	r.interval.ok += e.N
	r.interval.events += e.Events
	if r.window.Has(e.Now) {
		r.total.Arrived.Msgs += e.N
		r.total.Arrived.Events += e.Events
	}
	m := 0
	if measured {
		m = 1
		if r.open {
			r.total.Actual.Record(e.Now-e.Actual, e.N)
		}
	}
	r.interval.latency[e.Kind][m].Record(e.Now-e.Intended, e.N)
}

func count(l *result.Ledger, e *Ended) {
	switch e.Outcome {
	case OK:
		l.OK += e.N
		l.EventsOK += e.Events
	case Rejected:
		l.Rejected += e.N
	case Malformed:
		l.Malformed += e.N
	case Timeout:
		l.Timeout += e.N
	case Reset:
		l.Reset += e.N
	case Missing:
		l.Missing += e.N
	}
}
