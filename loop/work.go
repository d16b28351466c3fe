package loop

import "darboux/frame"

// work works a connection's burst on the loop itself.
func (l *Loop) work(c *Conn) {
	b := c.burst
	b.Taker = l
	if status := l.workers[b.Kind].Work(b); status != frame.Waiting {
		b.Status = status
		l.landed(b)
	}
}

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
