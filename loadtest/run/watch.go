package run

import (
	"context"
	"time"
)

// watchEvery is how often lanes are looked at for what takes too long: often
// enough that a timeout is seen with 5 % delay.
func (r *state) watchEvery() time.Duration {
	return min(max(r.config.Timeout/20, time.Millisecond), 100*time.Millisecond)
}

// watch ends the sending when the window is over, tells the server to stop if
// that was asked for, and closes connections on which a request takes too long.
// After the window every request is answered or overdue within the timeout, so
// all lanes end.
func (r *state) watch(ctx context.Context, interrupted <-chan struct{}) {
	tick := time.NewTicker(r.watchEvery())
	defer tick.Stop()
	end := time.NewTimer(time.Duration(r.meter.Window().To - r.now()))
	defer end.Stop()
	stop := r.stopTimer()
	for {
		select {
		case <-ctx.Done():
			return
		case <-stop:
			r.tellToStop()
			stop = nil
		case <-end.C:
			r.endSending()
		case <-interrupted:
			r.endSending()
			interrupted = nil
		case <-tick.C:
			r.closeOverdue()
		}
	}
}

func (r *state) stopTimer() <-chan time.Time {
	if r.config.Stop == nil {
		return nil
	}
	return time.After(r.config.Stop.At - time.Duration(r.now()))
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
	if r.pacer != nil {
		r.pacer.nudge()
	}
}

func (r *state) closeOverdue() {
	now := r.now()
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
