package loop

import "darboux/frame"

// work works a connection's burst on the loop itself.
func (l *Loop) work(c *Conn) {
	b := c.burst
	b.Status = l.workers[b.Kind].Work(b)
	l.landed(b)
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

var _ frame.Home = (*Loop)(nil)
