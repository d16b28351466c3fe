package run

import (
	"context"
	"time"
)

// longestTick bounds how late the end of the lanes or an interrupt is seen.
const longestTick = 10 * time.Millisecond

// steer keeps the run's time until all lanes have ended: it looks at the
// observer's clock, ends the sending when the window is over or ctx is done,
// tells the server to stop if that was asked for, and closes connections on
// which a request takes too long. After the window every request is answered
// or overdue within the timeout, so all lanes end.
//
// It sleeps by a Sleeper, not by channels of timers: a Go program that has
// timers pays for them whenever it waits for a socket.
func (r *state) steer(ctx context.Context, o *observer, done <-chan struct{}) {
	watchAt := int64(0)
	for {
		select {
		case <-done:
			o.finish()
			return
		default:
		}
		now := r.now()
		if now >= watchAt {
			r.closeOverdue(now)
			watchAt = now + int64(r.watchEvery())
		}
		o.look(now)
		r.turn(ctx, now)
		r.sleep(min(o.next(), watchAt))
	}
}

// sleep waits for a moment, but no longer than a tick, and notes how much too
// late it woke: then the whole program did.
func (r *state) sleep(until int64) {
	now := r.now()
	until = min(until, now+int64(longestTick))
	r.sleeper.Sleep(time.Duration(until - now))
	if woke := r.now(); until > now && r.meter.Window().Has(woke) {
		r.stall = max(r.stall, woke-until)
	}
}

// turn does what happens once in a run, when its time has come.
func (r *state) turn(ctx context.Context, now int64) {
	if stop := r.config.Stop; stop != nil && r.stoppedAt == nil && now >= int64(stop.At) {
		r.tellToStop()
	}
	if !r.ending.Load() && (now >= r.meter.Window().To || ctx.Err() != nil) {
		r.endSending()
	}
}

// watchEvery is how often lanes are looked at for what takes too long: often
// enough that a timeout is seen with 5 % delay.
func (r *state) watchEvery() time.Duration {
	return min(max(r.config.Timeout/20, time.Millisecond), 100*time.Millisecond)
}

// endSending lets each lane finish what is in flight.
func (r *state) endSending() {
	r.ending.Store(true)
	r.cancelDials()
	for _, l := range r.lanes {
		l.mu.Lock()
		l.wind()
		l.mu.Unlock()
	}
	r.nudge()
}

func (r *state) closeOverdue(now int64) {
	for _, l := range r.lanes {
		l.mu.Lock()
		if l.conn != nil && l.overdue(now) {
			l.close(timedOut)
		}
		l.mu.Unlock()
	}
}

// overdue tells whether the oldest request, or the end of a stream that was
// half closed, takes too long. Call it locked.
func (l *lane) overdue(now int64) bool {
	if !l.flight.empty() {
		return l.run.overdue(l.flight.front(), now)
	}
	return l.halfSince > 0 && now-l.halfSince >= int64(l.run.config.Timeout)
}

// tellToStop signals the server and notes how things stood.
func (r *state) tellToStop() {
	r.stopped.Store(true)
	r.stoppedAt = &StoppedAt{At: r.now(), Ledger: r.meter.Total().All, Opened: r.opened.Load()}
	r.config.Stop.Signal()
}
