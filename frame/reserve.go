package frame

import (
	"container/list"
	"sync"
	"sync/atomic"
)

// Reserve is a budget of bytes that all loops share, for what is too large for a
// connection's own budget. Whoever can wait stands in line. There is a line for each address,
// and they take turns, so that many claims of one address don't keep others waiting; whoever
// is next is not overtaken, so the largest is served too. Its mutex is taken only for such
// large things.
type Reserve struct {
	mu      sync.Mutex
	limit   int
	taken   int
	lines   map[string]*line // by address; those with somebody in it
	turns   list.List        // of them, the next one first
	waiting int
	wanted  int // bytes of the claims that wait
	waits   uint64
	refused uint64
}

// line is the claims of one address that wait, in the order of asking.
type line struct {
	claims list.List
	turn   *list.Element
}

// Claim is a request for bytes of a Reserve by someone who waits for them.
type Claim struct {
	Bytes   int    // how many, at most the Reserve's limit
	Address string // of the peer that they are for
	Call    func() // called once, by the goroutine that made room, if Ask returned false

	granted atomic.Bool
	place   *list.Element // in its line; nil: it doesn't wait
}

// Granted reports whether the bytes are taken.
func (c *Claim) Granted() bool { return c.granted.Load() }

// NewReserve makes a reserve of limit bytes.
func NewReserve(limit int) *Reserve { return &Reserve{limit: limit, lines: make(map[string]*line)} }

// Limit returns the size of the reserve in bytes.
func (r *Reserve) Limit() int { return r.limit }

// TryTake takes n bytes now or not at all. It fails while others wait in line.
// Any goroutine may call it.
func (r *Reserve) TryTake(n int) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.waiting > 0 || r.taken+n > r.limit {
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
	if r.waiting == 0 && r.taken+c.Bytes <= r.limit {
		r.grant(c)
		return true
	}
	r.enter(c)
	r.waits++
	return false
}

// Withdraw takes c out of the line. It returns false if c is not in line: its
// bytes are taken, and to be released.
func (r *Reserve) Withdraw(c *Claim) bool {
	r.mu.Lock()
	found := c.place != nil
	if found {
		r.leave(c)
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

// serve grants the claims whose turn it is as long as they fit.
func (r *Reserve) serve() (served []*Claim) {
	for r.waiting > 0 {
		next := r.turns.Front().Value.(*line)
		c := next.claims.Front().Value.(*Claim)
		if r.taken+c.Bytes > r.limit {
			break
		}
		r.turns.MoveToBack(next.turn)
		r.leave(c)
		r.grant(c)
		served = append(served, c)
	}
	return served
}

func (r *Reserve) grant(c *Claim) {
	r.taken += c.Bytes
	c.granted.Store(true)
}

// enter puts a claim into the line of its address.
func (r *Reserve) enter(c *Claim) {
	l := r.lines[c.Address]
	if l == nil {
		l = new(line)
		l.turn = r.turns.PushBack(l)
		r.lines[c.Address] = l
	}
	c.place = l.claims.PushBack(c)
	r.waiting++
	r.wanted += c.Bytes
}

// leave takes it out.
func (r *Reserve) leave(c *Claim) {
	l := r.lines[c.Address]
	l.claims.Remove(c.place)
	if l.claims.Len() == 0 {
		r.turns.Remove(l.turn)
		delete(r.lines, c.Address)
	}
	c.place = nil
	r.waiting--
	r.wanted -= c.Bytes
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
	return ReserveStats{Limit: r.limit, Taken: r.taken, Waiting: r.waiting, Waits: r.waits, Refused: r.refused}
}
