package loop

import (
	"fmt"
	"time"

	"golang.org/x/sys/unix"

	"darboux/frame"
)

// closeReason says why a connection was closed; each is counted.
type closeReason int

const (
	ended        closeReason = iota // the peer ended its stream and has all replies
	reset                           // the peer reset the connection, or is dead
	refused                         // a frame was refused by its length
	slowFrame                       // a frame came too slowly
	slowHolder                      // it held room of the reserve, for which others waited, and was slow
	slowReader                      // the replies were taken too slowly
	madeRoom                        // it never sent a frame and made room for another
	drained                         // the server drains
	stopped                         // the server stops at once
	idle                            // nothing came for the protocol's idle timeout
	streamMemory                    // the rest of a reply was given up, because memory for such replies is short
	failed                          // the system refused something
	closeReasons = int(failed) + 1
)

func (r closeReason) String() string {
	return [closeReasons]string{
		"end of stream", "reset", "frame refused", "frame timeout", "reserve wanted", "write timeout",
		"made room", "drain", "stop", "idle timeout", "stream memory", "system error",
	}[r]
}

// causeOf tells a peer that is gone from what the system refused.
func causeOf(err error) closeReason {
	switch err {
	case unix.ECONNRESET, unix.EPIPE, unix.ETIMEDOUT, unix.ECONNABORTED, unix.ENOTCONN, unix.EHOSTUNREACH, unix.ENETUNREACH:
		return reset
	}
	return failed
}

const (
	// lingerTime and lingerBytes bound what is discarded after our own close;
	// they leave room for a client that is in the middle of a large send.
	lingerTime  = 5 * time.Second
	lingerBytes = 64 << 20
	// drainLinger is lingerTime when the server drains.
	drainLinger = time.Second
)

// refuse notes that the frame at the head cannot be taken. Nothing more is read; the
// refusal is the last reply, behind those of the frames in front of it.
func (l *Loop) refuse(c *Conn, err error) {
	l.tally.add(framesRefused, 1)
	text := err.Error()
	if what := c.protocol.Describe(err); what != "" {
		text += "; it looks like " + what
	}
	l.cfg.Report(c.protocol.Refused, c.peer, text)
	c.refusal = err
	c.reason = refused
	c.state = finishing
}

// closeBehind lets the connection end behind the replies that are queued, because the
// worker said so: what else was received is not answered.
func (l *Loop) closeBehind(c *Conn) {
	if c.state == open {
		c.state = finishing
	}
	if c.burst.Broken() != nil {
		c.reason = streamMemory
	}
	l.dropUnread(c)
}

// finish closes a connection that wants to close, once it owes nothing: at once if
// the peer has ended its stream and everything is read, else lingering.
func (l *Loop) finish(c *Conn) {
	if c.state != finishing || c.burst != nil || l.cut(c).Frames > 0 {
		return
	}
	if c.refusal != nil {
		refusal := c.refusal
		c.refusal = nil
		l.dropUnread(c)
		l.queue(c, frame.NewReply(func(dst []byte) []byte { return c.protocol.Refuse(dst, refusal) }))
		l.flush(c)
	}
	if c.unsent > 0 || c.state == closed {
		return
	}
	l.dropUnread(c)
	if c.eof {
		l.close(c, c.reason)
		return
	}
	l.linger(c)
}

// dropUnread gives up what was received and will not be worked.
func (l *Loop) dropUnread(c *Conn) {
	if len(c.unread()) > 0 && c.reason != refused {
		l.tally.add(framesDropped, 1)
	}
	l.dropInput(c)
	l.unclaim(c)
	c.need = 0
}

// linger shuts down our sending side and waits, within limits, for the peer to do
// the same.
func (l *Loop) linger(c *Conn) {
	if err := l.kernel.ShutdownWrite(c.fd); err != nil {
		l.close(c, causeOf(err))
		return
	}
	c.state = lingering
	wait := lingerTime
	if c.reason == drained {
		wait = drainLinger
	}
	c.lingerEnd = l.kernel.Now().Add(wait)
	c.discarding = lingerBytes
	l.review(c)
}

// discard reads and forgets what still comes after our own close.
func (l *Loop) discard(c *Conn) {
	n, err := l.kernel.Read(c.fd, l.scratch)
	c.discarding -= n
	switch {
	case err != nil && again(err):
	case err != nil || n == 0 || c.discarding <= 0:
		l.close(c, c.reason)
	}
}

// close ends a connection at once. A burst that is out is marked, so that its
// handler stops, and comes back as an orphan.
func (l *Loop) close(c *Conn, why closeReason) {
	if c.state == closed {
		return
	}
	if c.datagrams {
		l.countDrops() // a closed socket can't be asked any more
		l.tally.add(sockets, -1)
	} else {
		l.tally.add(conns, -1)
		l.tally.add(closedFirst+stat(why), 1)
	}
	c.state = closed
	l.conns[c.fd] = nil
	if err := l.kernel.Close(c.fd); err != nil {
		l.cfg.Report("close", c.peer, fmt.Sprintf("closing the connection: %v", err))
	}
	for where := range lines {
		l.dequeue(where, c)
	}
	l.clearDeadline(c)
	l.release(c)
	if !c.datagrams {
		l.shared.leave(c)
		l.roomForAccept()
	}
	l.checkDrained()
}

// release gives back all that a closed connection holds but a burst that is out.
func (l *Loop) release(c *Conn) {
	l.dropInput(c)
	l.unclaim(c)
	for i := range c.replies {
		l.hold(c, -c.replies[i].Held)
		c.replies[i].Release()
	}
	c.replies, c.unsent = nil, 0
	if c.where == out {
		c.burst.SetGone()
		return
	}
	if c.burst != nil {
		l.dropWaitingBurst(c)
	}
	if c.held != 0 {
		panic(fmt.Sprintf("BUG: a closed connection still holds %d bytes", c.held))
	}
}

// dropWaitingBurst gives up a burst that waits here with frames left.
func (l *Loop) dropWaitingBurst(c *Conn) {
	b := c.burst
	b.GiveUp()
	if c.where == suspended { // a blocked one's replies are taken already
		r := b.TakeReply()
		r.Release()
		l.dropRoom(b)
	}
	l.hold(c, -l.dropBurst(b))
	c.burst, c.where = nil, none
}
