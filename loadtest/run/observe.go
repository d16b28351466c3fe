package run

import (
	"time"

	"darboux/loadtest/result"
)

// The outstanding requests are sampled this often over a run, and finer while
// the last ones are awaited: there one sees a queue drain.
const (
	samples      = 300
	drainSamples = 1000
	leastEvery   = 10 * time.Millisecond
	drainEvery   = time.Millisecond
)

// observer turns the run's time into intervals, samples and edges.
type observer struct {
	run        *state
	out        *Outcome
	every      int64 // ns between samples
	sampleAt   int64
	secondAt   int64
	drains     int
	began      bool
	ended      bool
	windowFrom int64
	windowTo   int64
}

func newObserver(r *state, out *Outcome) *observer {
	w := r.meter.Window()
	o := &observer{
		run: r, out: out, windowFrom: w.From, windowTo: w.To,
		every: max(w.To/samples, int64(leastEvery)), secondAt: w.From % int64(time.Second),
	}
	if o.secondAt == 0 {
		o.secondAt = int64(time.Second)
	}
	return o
}

// next is when there is something to do.
func (o *observer) next() int64 {
	at := min(o.sampleAt, o.secondAt)
	if !o.began {
		at = min(at, o.windowFrom)
	}
	if !o.ended {
		at = min(at, o.windowTo)
	}
	return at
}

// look does what is due.
func (o *observer) look(now int64) {
	if !o.began && now >= o.windowFrom {
		o.began = true
		o.edge(true)
	}
	if now >= o.sampleAt {
		o.sample(now)
	}
	if now >= o.secondAt {
		o.interval(now)
		for o.secondAt <= now {
			o.secondAt += int64(time.Second)
		}
	}
	if !o.ended && now >= o.windowTo {
		o.ended = true
		o.edge(false)
	}
}

func (o *observer) edge(begins bool) {
	if o.run.config.Edge != nil {
		o.run.config.Edge(begins)
	}
}

func (o *observer) sample(now int64) {
	every := o.every
	if now >= o.windowTo && o.drains < drainSamples {
		every = int64(drainEvery)
		o.drains++
	}
	o.sampleAt = now + every
	o.out.Outstanding = append(o.out.Outstanding, result.Sample{
		At: float64(now) / 1e9, Flight: o.run.inFlight.Load(), Backlog: o.backlog(now),
	})
}

func (o *observer) backlog(now int64) int64 {
	if o.run.pacer == nil {
		return 0
	}
	return o.run.pacer.waiting(now)
}

func (o *observer) interval(now int64) {
	s := o.run.meter.Interval(now)
	s.Flight, s.Backlog = o.run.inFlight.Load(), o.backlog(now)
	if o.run.config.Second != nil {
		o.run.config.Second(&s)
	}
	o.out.Series = append(o.out.Series, s)
}

// finish takes what the last interval left, and closes the window if the run
// ended before it.
func (o *observer) finish() {
	now := o.run.endedAt
	o.sample(now)
	o.interval(now)
	if !o.began {
		o.edge(true)
	}
	if !o.ended {
		o.edge(false)
	}
	o.out.Window.To = max(o.windowFrom, min(o.windowTo, now))
}
