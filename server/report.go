package main

import (
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/time/rate"
)

// A peer can cause reports as fast as it can send; these bound what the log gets.
const (
	reportEvery = time.Second // between two lines of one kind, once the first few are out
	reportBurst = 5           // lines of one kind that may come at once
	reportText  = 8 << 10     // bytes of a text that are logged: room for a stack
	reportKinds = 64          // kinds are few and named in the code
)

// Reporter writes what peers cause into the log, at a limited rate for each kind.
// What it leaves out is counted, and the count stands in the next line of that
// kind. It may be used from any goroutine, and never blocks on the network.
type Reporter struct {
	log *slog.Logger
	now func() time.Time

	suppressed atomic.Int64 // all kinds, for ever

	mu    sync.Mutex
	kinds map[string]*reportKind
}

type reportKind struct {
	limit *rate.Limiter
	left  int // reports not logged since the last line
}

// NewReporter returns a Reporter that writes to log by the clock now.
func NewReporter(log *slog.Logger, now func() time.Time) *Reporter {
	return &Reporter{log: log, now: now, kinds: map[string]*reportKind{}}
}

// Report logs one happening: kind is a fixed name from the code, peer the address
// that caused it, text what happened (of a client's bytes as much as it wants).
func (r *Reporter) Report(kind, peer, text string) {
	left, ok := r.admit(kind)
	if !ok {
		r.suppressed.Add(1)
		return
	}
	r.log.Warn(kind, "peer", peer, "text", clipped(text), "suppressed", left)
}

// clipped is as much of a peer's text as is logged.
func clipped(text string) string { return text[:min(len(text), reportText)] }

// admit tells whether a report of this kind may be logged now, and how many were
// left out before it.
func (r *Reporter) admit(kind string) (left int, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	k := r.kinds[kind]
	if k == nil {
		if len(r.kinds) == reportKinds {
			panic("BUG: report kinds must be fixed names, but here is one more: " + kind)
		}
		k = &reportKind{limit: rate.NewLimiter(rate.Every(reportEvery), reportBurst)}
		r.kinds[kind] = k
	}
	if !k.limit.AllowN(r.now(), 1) {
		k.left++
		return 0, false
	}
	left, k.left = k.left, 0
	return left, true
}

// Suppressed returns how many reports were never logged.
func (r *Reporter) Suppressed() int64 { return r.suppressed.Load() }

// Flush logs what the last line of each kind could not tell any more.
func (r *Reporter) Flush() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for name, k := range r.kinds {
		if k.left > 0 {
			r.log.Warn(name, "suppressed", k.left)
			k.left = 0
		}
	}
}
