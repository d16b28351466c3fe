package handlers

import (
	"sync"
	"sync/atomic"

	"darboux/frame"
)

// Pool is the handler goroutines. Each takes a fresh burst first and one after it that
// yielded, or goes on in the middle of a reply, so that long queries and replies neither
// stop others nor are stopped by them.
type Pool struct {
	ring    *frame.Ring[*frame.Burst]
	yielded *frame.Ring[*frame.Burst]
	running sync.WaitGroup

	worked atomic.Int64
	yields atomic.Int64
	parked atomic.Int64
}

// NewPool makes a pool of so many handlers that take bursts of these protocols from
// ring, and starts it.
func NewPool(handlers int, ring *frame.Ring[*frame.Burst], protocols []*frame.Protocol) *Pool {
	// Only a burst that holds a credit can yield, and there are no more credits
	// than slots in the ring: so this one is never full.
	p := &Pool{ring: ring, yielded: frame.NewRing[*frame.Burst](ring.Cap())}
	for range handlers {
		workers := make([]frame.Worker, len(protocols))
		for i, protocol := range protocols {
			workers[i] = protocol.NewWorker()
		}
		p.running.Go(func() { p.run(workers) })
	}
	return p
}

// Close ends the handlers when all bursts are worked. It is called once, when
// nothing is pushed any more.
func (p *Pool) Close() {
	p.ring.Close()
	p.running.Wait()
}

// run is one handler.
func (p *Pool) run(workers []frame.Worker) {
	for {
		fresh := p.takeFresh(workers)
		if p.takeYielded(workers) || fresh {
			continue
		}
		p.parked.Add(1)
		if !p.ring.Park(p.idle) {
			return
		}
	}
}

// idle reports whether there is nothing to do.
func (p *Pool) idle() bool { return p.ring.Empty() && p.yielded.Empty() }

// takeFresh works one fresh burst, if there is one. What is in front of it, in the middle
// of a frame, goes on among those that yielded. Who leaves something passes the wake on.
func (p *Pool) takeFresh(workers []frame.Worker) bool {
	for {
		b, ok := p.ring.Pop()
		if !ok {
			return false
		}
		if b.Kept != nil {
			p.takeUp(b)
			continue
		}
		if !p.idle() {
			p.ring.Wake()
		}
		p.work(b, workers[b.Kind])
		return true
	}
}

// takeYielded works one slice of a burst that yielded, if there is one.
func (p *Pool) takeYielded(workers []frame.Worker) bool {
	b, ok := p.yielded.Pop()
	if !ok {
		return false
	}
	if !p.yielded.Empty() {
		p.ring.Wake()
	}
	p.work(b, workers[b.Kind])
	return true
}

// work works a burst until its worker lets go of it. One that yielded stays here, unless
// other connections of its loop wait for its slot.
func (p *Pool) work(b *frame.Burst, w frame.Worker) {
	b.Taker = p
	p.worked.Add(1)
	status := w.Work(b)
	if status == frame.Waiting {
		return // from here on it is whoever's the worker gave it to
	}
	if status == frame.Yielded {
		p.yields.Add(1)
		if !b.Home.Awaited() {
			p.takeUp(b)
			return
		}
	}
	b.Status = status
	b.Home.GiveBack(b) // from here on it is its loop's
}

// TakeUp takes a burst up again that was Waiting, and wakes a handler for it. Any
// goroutine may call it.
func (p *Pool) TakeUp(b *frame.Burst) {
	p.takeUp(b)
	p.ring.Wake()
}

func (p *Pool) takeUp(b *frame.Burst) {
	if !p.yielded.Push(b) {
		panic("BUG: more bursts yielded than there are credits")
	}
}

var _ frame.Taker = (*Pool)(nil)

// PoolStats are the counters and gauges of a Pool and its ring.
type PoolStats struct {
	Worked, Yields, Parked     int64 // counters: times a burst was worked, yielded, a handler went to sleep
	Waiting, Slots, YieldedNow int   // gauges: bursts in the ring, its slots, bursts that yielded
}

// Stats returns the counters and gauges. Any goroutine may call it.
func (p *Pool) Stats() PoolStats {
	return PoolStats{
		Worked: p.worked.Load(), Yields: p.yields.Load(), Parked: p.parked.Load(),
		Waiting: p.ring.Len(), Slots: p.ring.Cap(), YieldedNow: p.yielded.Len(),
	}
}
