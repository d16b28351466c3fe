package loop

import (
	"fmt"
	"time"
)

// setDeadline puts a connection among those whose deadlines are looked at at each
// tick, or takes it out.
func (l *Loop) setDeadline(c *Conn) {
	due := c.incomplete() || c.occupies() > 0 || l.owed(c) || c.state == lingering || c.protocol.IdleTimeout > 0 && c.resting()
	switch {
	case due && c.watched == 0:
		now := l.kernel.Now()
		c.receiving.reset(now, l.cfg.FrameTimeout)
		c.holding.reset(now, l.cfg.holdWindow())
		l.resetSending(c, now)
		c.rests = now
		l.deadlines = append(l.deadlines, c)
		c.watched = len(l.deadlines)
	case !due:
		l.clearDeadline(c)
	}
}

func (l *Loop) clearDeadline(c *Conn) {
	if c.watched == 0 {
		return
	}
	last := len(l.deadlines) - 1
	moved := l.deadlines[last]
	l.deadlines[c.watched-1] = moved
	moved.watched = c.watched
	l.deadlines[last] = nil
	l.deadlines = l.deadlines[:last]
	c.watched = 0
}

// onTick looks at the deadlines.
func (l *Loop) onTick(now time.Time) {
	l.lasted, l.now = now.Sub(l.now), now
	l.wanted = l.shared.reserve.Wanted()
	for i := len(l.deadlines) - 1; i >= 0; i-- { // backwards: closing moves the last one
		if i < len(l.deadlines) {
			l.checkDeadline(l.deadlines[i], now)
		}
	}
	l.retryAccept()
	l.countDrops()
	l.publish()
}

// publish sets the gauges that follow from the loop's own structures.
func (l *Loop) publish() {
	l.tally[buffersFree].Store(int64(l.buffers.kept))
}

func (l *Loop) checkDeadline(c *Conn, now time.Time) {
	if !c.incomplete() || !c.reading() {
		c.receiving.reset(now, l.cfg.FrameTimeout) // the clock stands still while it is we who pause
	}
	if l.wanted == 0 || c.occupies() == 0 {
		c.holding.reset(now, l.cfg.holdWindow())
	}
	c.holding.rest(l.lasted - tickEvery) // a loop that was held up doesn't blame its peers
	if c.unsent == 0 && l.owed(c) {
		l.lookAcked(c)
	}
	if c.unsent == 0 && c.acked >= c.awaited {
		l.resetSending(c, now)
	}
	if c.stalled {
		c.stalled, c.full = false, false
		if l.settle(c); c.state == closed {
			return
		}
	}
	if !c.resting() {
		c.rests = now
	}
	switch {
	case c.where == blocked && c.burst.Broken() != nil:
		l.cfg.Report(streamMemory.String(), c.peer, fmt.Sprintf("connection closed in the middle of a reply: %v", c.burst.Broken()))
		l.close(c, streamMemory)
	case c.protocol.IdleTimeout > 0 && now.Sub(c.rests) >= c.protocol.IdleTimeout:
		c.state, c.reason = finishing, idle
		l.settle(c)
	case c.state == lingering && now.After(c.lingerEnd):
		l.close(c, c.reason)
	case c.receiving.late(now, l.cfg.FrameTimeout, ofSender):
		l.tooSlow(c, slowFrame, l.cfg.FrameTimeout, "--frame-timeout")
	case c.holding.late(now, l.cfg.holdWindow(), ofHolder) && l.wanted > 0:
		l.reclaim(c)
	case c.sending.late(now, l.cfg.WriteTimeout, ofReader) && l.lateReader(c, now):
		l.tooSlow(c, slowReader, l.cfg.WriteTimeout, "--write-timeout")
	default:
		l.setDeadline(c)
	}
}

// owed reports whether the peer has still to take some of its replies, as far as is known:
// from us, or from our kernel, whose memory is not without end either.
func (l *Loop) owed(c *Conn) bool {
	return c.unsent > 0 || l.cfg.WriteTimeout > 0 && c.acked < c.written
}

// resetSending gives a reader a whole window for what is with our kernel.
func (l *Loop) resetSending(c *Conn, now time.Time) {
	c.sending.reset(now, l.cfg.WriteTimeout)
	c.awaited = c.written
}

// lookAcked looks at what the peer's side has acknowledged. This counts for the pace, not
// what our kernel took: its buffer may be so large that it takes nothing for long from one
// who reads all the time.
func (l *Loop) lookAcked(c *Conn) {
	acked := c.written - l.kernel.Unacked(c.fd)
	c.sending.moved += acked - c.acked
	c.acked = acked
}

// lateReader reports whether a reader that seems late is.
func (l *Loop) lateReader(c *Conn, now time.Time) bool {
	l.lookAcked(c)
	return c.sending.late(now, l.cfg.WriteTimeout, ofReader)
}

// tooSlow closes a connection whose peer is slower than it may be; flag sets the window.
func (l *Loop) tooSlow(c *Conn, why closeReason, window time.Duration, flag string) {
	l.cfg.Report(why.String(), c.peer, fmt.Sprintf("connection closed: under %d bytes a second over %v (%s)", LeastRate, window, flag))
	l.close(c, why)
}

// reclaim closes a connection whose peer is too slow with the room of the reserve that it
// holds, for those who wait: no more than they want.
func (l *Loop) reclaim(c *Conn) {
	room := c.occupies()
	l.wanted -= min(room, l.wanted)
	l.cfg.Report(slowHolder.String(), c.peer, fmt.Sprintf(
		"connection closed: under %d bytes a second over %v (a fifth of --frame-timeout) with what it holds %d bytes of the reserve for, half of %s %d, while others wait for it",
		HolderRate, l.cfg.holdWindow(), room, l.cfg.Memory.Flag, l.cfg.Memory.Value))
	l.close(c, slowHolder)
}
