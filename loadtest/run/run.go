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
	Stall       int64          // ns that this program slept longer than it meant to, at most
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
// requests in flight finish. The error is that of a Sleeper: nothing was sent.
func Run(ctx context.Context, c Config) (*Outcome, error) {
	r, err := newState(&c)
	if err != nil {
		return nil, err
	}
	defer r.sleeper.Close()
	inner, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	dials, cancelDials := context.WithCancel(inner)
	r.cancelDials = cancelDials
	lanesDone := r.startLanes(dials)
	var pacing sync.WaitGroup
	if r.pacer != nil {
		pacing.Go(func() { r.pacer.drive(inner) })
	}
	var side *sideRun
	if c.Side != nil {
		side = startSide(dials, r, c.Side)
	}
	out := &Outcome{Started: r.start, Window: r.meter.Window()}
	r.steer(ctx, newObserver(r, out), lanesDone)
	cancel()
	pacing.Wait()
	if side != nil {
		out.Side = side.result()
	}
	r.conclude(out)
	return out, nil
}

func newState(c *Config) (r *state, err error) {
	r = &state{
		config: c, started: make(chan struct{}), places: make(chan struct{}, connectsAtOnce),
		atOnce: max(1, int64(chunk/c.Workload.LongestFrame())),
	}
	if r.sleeper, err = c.Sleeper(); err != nil {
		return nil, err
	}
	w := measure.Window{From: int64(c.Warmup), To: int64(c.Warmup + c.Duration)}
	if c.Open != nil {
		w.To = min(w.To, c.Open.endOf(w, c.Count))
		s, err := c.Sleeper()
		if err != nil {
			r.sleeper.Close()
			return nil, err
		}
		r.pacer = newPacer(r, c.Open, w, s)
	}
	r.meter = measure.NewMeter(runtime.GOMAXPROCS(0), w, c.Open != nil)
	for i := range c.Connections {
		r.lanes = append(r.lanes, newLane(r, i))
	}
	return r, nil
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
		r.endedAt = r.now()
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
	out.Stopped, out.Stall = r.stoppedAt, r.stall
	if r.pacer != nil {
		out.Pacing = r.pacer.result(out.Window.To, r.highest.Load())
	}
	if !out.Total.All.Balanced() || !out.Total.Measured.Balanced() || r.inFlight.Load() != 0 {
		panic("BUG: a request has no outcome, or two")
	}
}
