package run

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"darboux/loadtest/measure"
	"darboux/loadtest/pace"
	"darboux/loadtest/result"
)

const (
	// lateAfter is when a send counts as late, in ns.
	lateAfter = int64(time.Millisecond)
	// quantum is the least time between two looks at the schedule: at high
	// rates what falls due within it is sent together, or waking would cost
	// more than sending.
	quantum = 50 * time.Microsecond
	// longestSleep bounds how late the pacer sees that the run is over.
	longestSleep = 50 * time.Millisecond
)

// pacer deals the requests that are due to the lanes, in turns.
type pacer struct {
	run      *state
	sleeper  Sleeper
	limit    int64 // requests in flight at most
	window   measure.Window
	schedule *pace.Schedule
	next     int
	starved  atomic.Bool
	wake     chan struct{} // holds at most one

	mu       sync.Mutex // guards what follows: others look at the backlog too
	counter  *pace.Counter
	sent     int64
	backlog  int64 // the greatest
	measured result.Pacing
	oldest   int64 // when the first request fell due that was not sent; written when drive returns
}

func newPacer(r *state, o *Open, w measure.Window, s Sleeper) *pacer {
	p := &pacer{run: r, sleeper: s, limit: int64(o.Outstanding), window: w, wake: make(chan struct{}, 1)}
	if p.limit == 0 {
		p.limit = MaxOutstanding
	}
	p.schedule, p.counter = o.Schedule(), pace.NewCounter(o.Schedule())
	p.measured.LateAfter = lateAfter
	return p
}

// nudge tells a pacer that could send nothing to try again.
func (p *pacer) nudge() {
	if !p.starved.Load() {
		return
	}
	select {
	case p.wake <- struct{}{}:
	default: // told already
	}
}

// waiting returns how many requests are due and not sent.
func (p *pacer) waiting(now int64) int64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := p.counter.Due(time.Duration(min(now, p.window.To-1))) - p.sent
	p.backlog = max(p.backlog, n)
	return n
}

// drive sends what is due until the run is over.
func (p *pacer) drive(ctx context.Context) {
	defer p.sleeper.Close()
	next := p.schedule.Next()
	due := func() int64 {
		at := next
		next = p.schedule.Next()
		return int64(at)
	}
	defer func() { p.oldest = int64(next) }()
	for !p.run.over() && ctx.Err() == nil {
		now := p.run.now()
		backlog := p.waiting(now)
		if backlog == 0 {
			p.sleeper.Sleep(min(max(next-time.Duration(now), quantum), longestSleep))
			continue
		}
		if p.deal(min(backlog, p.limit-p.run.inFlight.Load()), due) {
			p.starved.Store(false)
			continue
		}
		if p.starved.Swap(true) { // else look once more: room may have come since
			p.sleepStarved(ctx)
		}
	}
}

func (p *pacer) sleepStarved(ctx context.Context) {
	select {
	case <-p.wake:
	case <-ctx.Done():
	}
	p.starved.Store(false)
}

// deal gives n requests to the lanes, in turns and as evenly as they take them,
// and tells whether any was taken.
func (p *pacer) deal(n int64, due func() int64) bool {
	lanes := p.run.lanes
	took := int64(0)
	for left := int64(len(lanes)); left > 0 && took < n; left-- {
		lane := lanes[p.next]
		p.next = (p.next + 1) % len(lanes)
		took += lane.give((n-took+left-1)/left, due)
	}
	if took == 0 {
		return false
	}
	p.mu.Lock()
	p.sent += took
	p.mu.Unlock()
	return true
}

// noteLate compares a request's two starts. Only the pacer's goroutine, within
// give, calls it.
func (p *pacer) noteLate(g *group, now int64) {
	if late := now - g.intended; late > lateAfter && p.window.Has(g.intended) {
		p.measured.Late += g.n
		p.measured.LatestNs = max(p.measured.LatestNs, late)
	}
}

// result is how the schedule was kept until the window ended, which was to if the run was
// interrupted; call it when drive has returned.
func (p *pacer) result(to, flight int64) *result.Pacing {
	p.window.To = min(p.window.To, to)
	unsent := p.waiting(p.window.To)
	r := p.measured
	r.MaxBacklog, r.MaxFlight = p.backlog, flight
	before := pace.NewCounter(p.run.config.Open.Schedule()).Due(time.Duration(p.window.From - 1))
	r.Due = p.counter.Due(time.Duration(p.window.To-1)) - before
	if r.Unsent = min(unsent, r.Due); r.Unsent > 0 { // what is left of the warm-up's is not measured
		r.Late += r.Unsent
		r.LatestNs = max(r.LatestNs, p.window.To-max(p.window.From, p.oldest))
	}
	return &r
}
