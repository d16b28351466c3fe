package frame

import "sync/atomic"

// parking lets goroutines sleep until there is work, with one wake on its way at
// a time: who is woken passes the wake on if there is work for another.
type parking struct {
	sleepers atomic.Int32
	waking   atomic.Bool // true exactly while a wake is sent and not yet received
	bell     chan struct{}
	closed   chan struct{}
}

func (p *parking) init() {
	p.bell = make(chan struct{}, 1)
	p.closed = make(chan struct{})
}

// Wake wakes one parked goroutine, if one is parked and no wake is on its way.
// Any goroutine may call it, after it has made the work visible.
func (p *parking) Wake() {
	if p.sleepers.Load() > 0 && p.waking.CompareAndSwap(false, true) {
		p.bell <- struct{}{} // room for one, and waking lets only one in
	}
}

// Park sleeps until a Wake or Close, unless idle, asked once the caller is known
// to be a sleeper, says that there is work after all. It returns false once the
// ring is closed and idle.
//
// No wake is lost: who makes work visible looks for sleepers after that, and who
// wants to sleep looks for work after it is counted as a sleeper. A wake that was
// left out because another was on its way is made up for by its receiver, who
// clears the mark before it looks for work.
func (p *parking) Park(idle func() bool) bool {
	p.sleepers.Add(1)
	defer p.sleepers.Add(-1)
	if !idle() {
		return true
	}
	select {
	case <-p.bell:
		p.waking.Store(false)
		return true
	case <-p.closed:
		return !idle()
	}
}

// Close lets all parked goroutines go, now and later. It is called once, when
// nothing more is pushed.
func (p *parking) Close() { close(p.closed) }
