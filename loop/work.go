package loop

import (
	"time"

	"darboux/frame"
)

// work works a connection's burst on the loop itself.
func (l *Loop) work(c *Conn) {
	b := c.burst
	b.Taker = l
	if status := l.workers[b.Kind].Work(b); status != frame.Waiting {
		b.Status = status
		l.landed(b)
	}
}

// briefSize is the size in bytes up to which a loop works a burst itself although there
// are handlers, if its Worker finds it brief.
const briefSize = 16 << 10

// never is for bursts that are to be handed over.
func never(*Conn) bool { return false }

// isBrief reports whether the loop is to try a connection's burst itself: a small fresh one,
// while that takes no more than half of the loop's time.
func (l *Loop) isBrief(c *Conn) bool {
	return c.protocol.Brief && c.burst.Next == 0 && c.burst.Kept == nil && len(c.burst.In) <= briefSize && l.spent.allow(l.kernel.Now())
}

// workBrief works a burst on the loop as far as it is brief. It holds a credit meanwhile,
// because its rest may have to be handed over.
func (l *Loop) workBrief(c *Conn) {
	b := c.burst
	b.Brief = true
	status := l.workers[b.Kind].Work(b)
	b.Brief = false
	l.spent.end(l.kernel.Now())
	switch status {
	case frame.Yielded:
		l.handOver(b)
		return
	case frame.Waiting:
		panic("BUG: a burst waits on a loop that has handlers")
	}
	l.tally.add(burstsBrief, 1)
	b.Status = status
	l.returnCredit()
	l.landed(b)
}

// workTime is the time that a loop spends on work of its own.
type workTime struct {
	begun time.Time     // of the last work
	left  time.Duration // that it may spend
}

// mostOwnWork is how much time a loop can save up for work of its own, or owe.
const mostOwnWork = time.Millisecond

// allow begins a piece of work, unless half of the time until now was spent.
func (w *workTime) allow(now time.Time) bool {
	w.left = min(mostOwnWork, w.left+now.Sub(w.begun)/2)
	w.begun = now
	return w.left > 0
}

// end ends a piece of work.
func (w *workTime) end(now time.Time) { w.left = max(-mostOwnWork, w.left-now.Sub(w.begun)) }

// TakeUp takes up a burst that was Waiting, where the loop works its bursts itself. Any
// goroutine may call it.
func (l *Loop) TakeUp(b *frame.Burst) {
	b.Status = frame.Yielded
	l.GiveBack(b)
}

// waitForTurn lets the connection go on when others had their turn: one a round.
func (l *Loop) waitForTurn(c *Conn) {
	l.enqueue(forTurn, c)
	l.bell.ring()
}

// takeTurn lets the first connection in line go on, and comes back for the next one
// in another round.
func (l *Loop) takeTurn() {
	if c := l.first(forTurn); c != nil {
		l.settle(c)
	}
	if l.lines[forTurn].Len() > 0 {
		l.bell.ring()
	}
}

var (
	_ frame.Home  = (*Loop)(nil)
	_ frame.Taker = (*Loop)(nil)
)
