package frame

import (
	"sync"
	"sync/atomic"
)

// Reserve is a budget of bytes that all loops share, for what is too large for a
// connection's own budget. Whoever can wait stands in line, and is served in the
// order of asking; a claim never overtakes an older one, so the largest is served
// too. Its mutex is taken only for such large things.
type Reserve struct {
	mu      sync.Mutex
	limit   int
	taken   int
	waiting []*Claim
	wanted  int // bytes of the claims that wait
	waits   uint64
	refused uint64
}

// Claim is a request for bytes of a Reserve by someone who waits for them.
type Claim struct {
	Bytes int    // how many, at most the Reserve's limit
	Call  func() // called once, by the goroutine that made room, if Ask returned false

	granted atomic.Bool
}

// Granted reports whether the bytes are taken.
func (c *Claim) Granted() bool { return c.granted.Load() }

// NewReserve makes a reserve of limit bytes.
func NewReserve(limit int) *Reserve { return &Reserve{limit: limit} }

// Limit returns the size of the reserve in bytes.
func (r *Reserve) Limit() int { return r.limit }

// TryTake takes n bytes now or not at all. It fails while others wait in line.
// Any goroutine may call it.
func (r *Reserve) TryTake(n int) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.waiting) > 0 || r.taken+n > r.limit {
		r.refused++
		return false
	}
	r.taken += n
	return true
}

// Ask takes c.Bytes now and returns true, or puts c in line and returns false;
// then c.Call is called when the bytes are taken.
func (r *Reserve) Ask(c *Claim) bool {
	if c.Bytes > r.limit {
		panic("BUG: a claim larger than the reserve would wait for ever")
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.waiting) == 0 && r.taken+c.Bytes <= r.limit {
		r.taken += c.Bytes
		c.granted.Store(true)
		return true
	}
	r.waiting = append(r.waiting, c)
	r.wanted += c.Bytes
	r.waits++
	return false
}

// Withdraw takes c out of the line. It returns false if c is not in line: its
// bytes are taken, and to be released.
func (r *Reserve) Withdraw(c *Claim) bool {
	r.mu.Lock()
	found := false
	for i, w := range r.waiting {
		if w == c {
			r.waiting = append(r.waiting[:i], r.waiting[i+1:]...)
			r.wanted -= c.Bytes
			found = true
			break
		}
	}
	served := r.serve()
	r.mu.Unlock()
	call(served)
	return found
}

// Wanted returns how many bytes those in line want beyond what is free. Any goroutine may
// call it.
func (r *Reserve) Wanted() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return max(0, r.wanted-(r.limit-r.taken))
}

// Release gives n bytes back and serves those in line.
func (r *Reserve) Release(n int) {
	r.mu.Lock()
	r.taken -= n
	if r.taken < 0 {
		panic("BUG: more released to the reserve than was taken")
	}
	served := r.serve()
	r.mu.Unlock()
	call(served)
}

// serve takes the bytes for those at the head of the line that fit.
func (r *Reserve) serve() []*Claim {
	n := 0
	for n < len(r.waiting) && r.taken+r.waiting[n].Bytes <= r.limit {
		r.taken += r.waiting[n].Bytes
		r.wanted -= r.waiting[n].Bytes
		n++
	}
	served := r.waiting[:n:n]
	for _, c := range served {
		c.granted.Store(true)
	}
	r.waiting = r.waiting[n:]
	return served
}

func call(served []*Claim) {
	for _, c := range served {
		c.Call()
	}
}

// ReserveStats are the counters and gauges of a Reserve.
type ReserveStats struct {
	Limit, Taken int    // bytes
	Waiting      int    // claims in line now
	Waits        uint64 // claims that had to stand in line
	Refused      uint64 // requests that could not wait and found no room
}

// Stats returns the counters and gauges. Any goroutine may call it.
func (r *Reserve) Stats() ReserveStats {
	r.mu.Lock()
	defer r.mu.Unlock()
	return ReserveStats{Limit: r.limit, Taken: r.taken, Waiting: len(r.waiting), Waits: r.waits, Refused: r.refused}
}
