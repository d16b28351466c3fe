package run

import (
	"context"
	"sync/atomic"
	"time"

	"darboux/loadtest/measure"
	"darboux/loadtest/wire"
)

// state is what the goroutines of one run share.
type state struct {
	config  *Config
	meter   *measure.Meter
	lanes   []*lane
	pacer   *pacer // nil: closed loop
	sleeper Sleeper
	errors  errorTexts
	places  chan struct{} // for connects under way
	started chan struct{} // closed when the clock runs
	atOnce  int64         // requests made before they are offered to the socket
	start   time.Time     // written before started is closed

	cancelDials func()     // ends connects under way and pauses between them
	stoppedAt   *StoppedAt // written by steer
	stall       int64      // ns that steer woke too late at most, in the window
	endedAt     int64      // when all lanes had ended; written before that is told

	ending   atomic.Bool  // nothing more is sent
	stopped  atomic.Bool  // the server was told to stop
	claimed  atomic.Int64 // of config.Count
	inFlight atomic.Int64
	highest  atomic.Int64 // of inFlight

	opened, connectErrors, endedByServer, endedByClient, unasked atomic.Int64
	rejections                                                   atomic.Int64
}

// now is the time since the run's start in ns.
func (r *state) now() int64 { return int64(time.Since(r.start)) }

// micros is the time of day that events carry, in µs since 1970.
func (r *state) micros() int64 { return r.start.UnixMicro() + r.now()/1e3 }

// over tells whether nothing more is to be sent.
func (r *state) over() bool {
	return r.ending.Load() || r.config.Count > 0 && r.pacer == nil && r.claimed.Load() >= r.config.Count
}

func (r *state) overdue(g *group, now int64) bool {
	return now-g.actual >= int64(r.config.Timeout)
}

// claim asks for n further requests of those that config.Count allows, and
// returns how many there are. The warm-up's are free.
func (r *state) claim(n int64) int64 {
	if n <= 0 || r.over() {
		return 0
	}
	if r.config.Count == 0 || r.now() < r.meter.Window().From {
		return n
	}
	beyond := r.claimed.Add(n) - r.config.Count
	return max(0, n-max(0, beyond))
}

// joined notes n requests more in flight.
func (r *state) joined(n int64) {
	now := r.inFlight.Add(n)
	for {
		highest := r.highest.Load()
		if now <= highest || r.highest.CompareAndSwap(highest, now) {
			return
		}
	}
}

// left notes n requests fewer in flight.
func (r *state) left(n int64) {
	if n == 0 {
		return
	}
	r.inFlight.Add(-n)
	r.nudge()
}

// nudge tells the pacer, if there is one, that a lane may take requests again.
func (r *state) nudge() {
	if r.pacer != nil {
		r.pacer.nudge()
	}
}

// rejected notes the text of an ok=false.
func (r *state) rejected(reply *wire.Replies) {
	text := "(not read)"
	if r.rejections.Add(1) <= maxErrorTexts {
		text = reply.Reason()
	}
	r.errors.note("rejected", text)
}

// dial connects, a bounded number at once.
func (r *state) dial(ctx context.Context) (wire.Conn, error) {
	select {
	case r.places <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	defer func() { <-r.places }()
	ctx, cancel := context.WithTimeout(ctx, r.config.Timeout)
	defer cancel()
	conn, err := r.config.Dial(ctx)
	if err == nil {
		r.opened.Add(1)
	} else if ctx.Err() == nil || ctx.Err() == context.DeadlineExceeded {
		r.connectErrors.Add(1)
		r.errors.note("connect", plain(err))
	}
	return conn, err
}

func (r *state) bufferSize() int {
	if len(r.lanes) >= manyLanes {
		return lessBuffer
	}
	return readBuffer
}
