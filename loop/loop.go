package loop

import (
	"container/list"
	"fmt"
	"sync/atomic"
	"time"

	"darboux/frame"
)

// Loop is one poller and the connections it accepted. All methods but GiveBack run
// on its own goroutine.
type Loop struct {
	cfg      *Config
	shared   *shared
	kernel   kernel
	poller   poller
	bell     *bell
	ticker   int
	workers  []frame.Worker // by kind; nil where only handlers work the bursts
	spent    workTime
	promised int // bytes of its share kept free for what its connections' next bursts take

	listeners []*listener
	sockets   []*Conn // for datagrams
	batch     *datagrams
	conns     []*Conn // by descriptor
	lines     [lines]list.List
	deadlines []*Conn // those with a deadline

	back    *frame.Ring[*frame.Burst] // bursts given back; as long as there are credits
	credits int
	piece   bool // a credit given back goes to the middle of a reply next, not to a fresh burst
	spare   []*frame.Burst
	buffers buffers
	scratch []byte // what is read goes here first, so that idle connections hold nothing
	vector  [][]byte

	now      time.Time     // when the last tick was
	lasted   time.Duration // from the tick before it
	wanted   int           // bytes of the reserve that others waited for then
	grants   atomic.Int32  // claims granted that the loop has not seen
	orders   atomic.Uint32
	leaving  []*Conn // connections that made room for others'; the mutex of shared guards it
	draining bool
	stopping bool
	drained  chan struct{} // closed when draining and no connection is left
	tally    tally
}

// orders that other goroutines give a loop, as bits.
const (
	orderDrain = 1 << iota
	orderStop
	orderMakeRoom
)

func newLoop(cfg *Config, s *shared, k kernel, p poller, b *bell) *Loop {
	l := &Loop{
		cfg: cfg, shared: s, kernel: k, poller: p, bell: b,
		credits: cfg.credits(),
		scratch: make([]byte, readSize),
		now:     k.Now(),
		drained: make(chan struct{}),
	}
	l.back = frame.NewRing[*frame.Burst](slotsFor(max(l.credits, MaxWaiting)))
	l.workers = make([]frame.Worker, len(cfg.Protocols))
	for i, protocol := range cfg.Protocols {
		if cfg.Ring == nil || protocol.Brief {
			l.workers[i] = protocol.NewWorker()
		}
	}
	return l
}

// slotsFor is the least size of a ring for n bursts.
func slotsFor(n int) int {
	slots := 2
	for slots < n {
		slots *= 2
	}
	return slots
}

// run polls until the loop is told to stop and every burst is back.
func (l *Loop) run() {
	if err := l.poller.Poll(l.onEvent, l.anyOut); err != nil {
		panic(fmt.Sprintf("BUG: a loop's poller ended: %v", err))
	}
}

// anyOut reports whether bursts are out, so that another goroutine may be at work.
func (l *Loop) anyOut() bool { return l.tally.get(burstsOut) > 0 }

// onEvent handles one event and reports whether the loop goes on.
func (l *Loop) onEvent(fd int, ev events) bool {
	switch {
	case fd == l.bell.fd:
		l.onBell()
	case fd == l.ticker:
		ticked(fd)
		l.onTick(l.kernel.Now())
	case l.listener(fd) != nil:
		l.accept(l.listener(fd))
	default:
		if c := l.conn(fd); c != nil {
			l.onConn(c, ev)
		}
	}
	return !l.stopping || l.anyOut()
}

// conn returns the connection with this descriptor, or nil.
func (l *Loop) conn(fd int) *Conn {
	if fd < len(l.conns) {
		return l.conns[fd]
	}
	return nil
}

// onConn handles an event of a connection. The event may be stale, so nothing is
// believed of it that a read, a write or the socket's own error doesn't confirm.
func (l *Loop) onConn(c *Conn, ev events) {
	if c.datagrams {
		l.receive(c)
		return
	}
	if ev&evWritable != 0 && c.full {
		c.full, c.told = false, true
		defer func() { c.told = false }()
	}
	switch {
	case c.state == lingering:
		l.discard(c)
		return
	case c.reading() && ev&(evReadable|evHangup) != 0:
		l.read(c)
	case ev&evHangup != 0:
		if err := l.kernel.Error(c.fd); err != nil {
			l.close(c, causeOf(err))
		}
	}
	l.settle(c)
}

// settle brings a connection to rest after anything has happened to it, so that no
// work is left standing: the next burst goes out before the last one's replies are
// written, room that the write made lets a further one go, and what is finished is
// closed.
func (l *Loop) settle(c *Conn) {
	if c.datagrams {
		l.receive(c)
		return
	}
	l.dispatch(c)
	if l.flush(c); c.state == closed {
		return
	}
	l.dispatchNext(c)
	if l.flush(c); c.state == closed { // what a cut had to say between two requests
		return
	}
	if l.finish(c); c.state == closed {
		return
	}
	l.review(c)
}

// review makes what the connection is registered for follow from its state.
func (l *Loop) review(c *Conn) {
	l.setPaused(c, window, c.unsent >= Window || c.where == blocked)
	if c.paused&ownBudget != 0 && l.hasOwnRoom(c) {
		l.setPaused(c, ownBudget, false)
	}
	if c.places[forMemory] != nil && c.need > len(c.unread()) {
		l.dequeue(forMemory, c) // a frame has begun meanwhile: its room may come from the reserve
		l.setPaused(c, memory, false)
	}
	l.setDeadline(c)
	want := c.want()
	if want == c.interest {
		return
	}
	if err := l.poller.Change(c.fd, c.interest, want); err != nil {
		l.cfg.Report("poll", c.peer, fmt.Sprintf("connection closed: the poller refused it: %v", err))
		l.close(c, failed)
		return
	}
	c.interest = want
}

var pauseStats = map[reasons]stat{ownBudget: pausedOwn, memory: pausedMemory, window: pausedWindow}

// setPaused adds a reason for pausing, or takes it away.
func (l *Loop) setPaused(c *Conn, r reasons, on bool) {
	if on == (c.paused&r != 0) {
		return
	}
	c.paused ^= r
	if on {
		l.tally.add(pauseStats[r], 1)
	}
}

// lineStats are the gauges of how many wait in each line.
var lineStats = [lines]stat{
	forCredit: waitingCredit, forPiece: waitingCredit, forMemory: waitingMemory, forReserve: waitingMemory, forTurn: waitingTurn,
}

// enqueue puts a connection at the end of a line, if it is not in it.
func (l *Loop) enqueue(where line, c *Conn) {
	if c.places[where] == nil {
		c.places[where] = l.lines[where].PushBack(c)
		l.tally.add(lineStats[where], 1)
	}
}

// dequeue takes a connection out of a line, if it is in it.
func (l *Loop) dequeue(where line, c *Conn) {
	if c.places[where] != nil {
		l.lines[where].Remove(c.places[where])
		c.places[where] = nil
		l.tally.add(lineStats[where], -1)
	}
}

// first takes the first connection out of a line; nil if nobody waits.
func (l *Loop) first(where line) *Conn {
	e := l.lines[where].Front()
	if e == nil {
		return nil
	}
	c := e.Value.(*Conn)
	l.dequeue(where, c)
	return c
}
