package run

import (
	"context"
	"runtime"
	"sync"
	"time"

	"darboux/loadtest/measure"
	"darboux/loadtest/result"
)

// Outcome is what a run found.
type Outcome struct {
	Started     time.Time
	Window      measure.Window // To is when the run ended, if that was earlier
	Total       measure.Total
	Connects    result.Connects
	Pacing      *result.Pacing // nil: closed loop
	Series      []result.Second
	Outstanding []result.Sample
	Side        *result.Side // nil: none
	Stopped     *StoppedAt   // nil: the server was not told to stop
	Errors      []result.ErrorText
}

// StoppedAt is the state of the run when the server was told to stop.
type StoppedAt struct {
	At     int64 // ns since the run's start
	Ledger result.Ledger
	Opened int64 // connections
}

// Run opens the connections, then starts the clock, drives the load, and
// returns when each request has its outcome: at most Warmup + Duration + about
// Timeout after the start. When ctx is done it stops sending and lets the
// requests in flight finish.
func Run(ctx context.Context, c Config) *Outcome {
	r := newState(&c)
	inner, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	dials, cancelDials := context.WithCancel(inner)
	r.cancelDials = cancelDials
	lanesDone := r.startLanes(dials)
	var others sync.WaitGroup
	others.Go(func() { r.watch(inner, ctx.Done()) })
	if r.pacer != nil {
		others.Go(func() { r.pacer.drive(inner) })
	}
	var side *sideRun
	if c.Side != nil {
		side = startSide(dials, r, c.Side)
	}
	out := &Outcome{Started: r.start, Window: r.meter.Window()}
	r.observe(out, lanesDone)
	cancel()
	others.Wait()
	if side != nil {
		out.Side = side.result()
	}
	r.conclude(out)
	return out
}

func newState(c *Config) *state {
	r := &state{
		config: c, started: make(chan struct{}), places: make(chan struct{}, connectsAtOnce),
		atOnce: max(1, int64(chunk/c.Workload.LongestFrame())),
	}
	w := measure.Window{From: int64(c.Warmup), To: int64(c.Warmup + c.Duration)}
	if c.Open != nil {
		w.To = min(w.To, c.Open.endOf(w, c.Count))
		r.pacer = newPacer(r, c.Open, w)
	}
	r.meter = measure.NewMeter(runtime.GOMAXPROCS(0), w, c.Open != nil)
	for i := range c.Connections {
		r.lanes = append(r.lanes, newLane(r, i))
	}
	return r
}

// endOf is when the count-th request of the window has just fallen due.
func (o *Open) endOf(w measure.Window, count int64) int64 {
	if count == 0 {
		return w.To
	}
	schedule := o.Schedule()
	at := int64(schedule.Next())
	for at < w.From {
		at = int64(schedule.Next())
	}
	for ; count > 1 && at < w.To; count-- {
		at = int64(schedule.Next())
	}
	return at + 1
}

// startLanes connects all lanes, starts the clock, and returns what is closed
// when they have all ended.
func (r *state) startLanes(ctx context.Context) <-chan struct{} {
	var dialed, lanes sync.WaitGroup
	dialed.Add(len(r.lanes))
	for _, l := range r.lanes {
		lanes.Go(func() { l.live(ctx, dialed.Done) })
	}
	dialed.Wait()
	r.start = time.Now()
	close(r.started)
	done := make(chan struct{})
	go func() {
		lanes.Wait()
		close(done)
	}()
	return done
}

// conclude gathers the totals; every goroutine of the run has ended.
func (r *state) conclude(out *Outcome) {
	out.Total = r.meter.Total()
	out.Connects = result.Connects{
		Opened: r.opened.Load(), ConnectErrors: r.connectErrors.Load(),
		EndedByServer: r.endedByServer.Load(), EndedByClient: r.endedByClient.Load(),
		Unasked: r.unasked.Load(),
	}
	out.Errors = r.errors.list()
	out.Stopped = r.stoppedAt
	if r.pacer != nil {
		out.Pacing = r.pacer.result(r.highest.Load())
	}
	if !out.Total.All.Balanced() || !out.Total.Measured.Balanced() || r.inFlight.Load() != 0 {
		panic("BUG: a request has no outcome, or two")
	}
}

// tellToStop signals the server and notes how things stood.
func (r *state) tellToStop() {
	r.stopped.Store(true)
	r.stoppedAt = &StoppedAt{At: r.now(), Ledger: r.meter.Total().All, Opened: r.opened.Load()}
	r.config.Stop.Signal()
}
