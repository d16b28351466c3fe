package loop

import "darboux/frame"

// queue puts a reply behind those that wait for the kernel.
func (l *Loop) queue(c *Conn, r frame.Reply) {
	n := len(r.Rest())
	if n == 0 {
		r.Release()
		return
	}
	c.unsent += n
	if last := len(c.replies) - 1; last < 0 || !c.replies[last].Join(&r) {
		c.replies = append(c.replies, r)
	}
	l.count(c, &c.replies[len(c.replies)-1])
}

// count counts for a reply the memory that it takes.
func (l *Loop) count(c *Conn, r *frame.Reply) {
	l.hold(c, r.Size()-r.Held)
	r.Held = r.Size()
}

// kernelFull notes that the kernel takes no more for now. What stays takes no more memory
// than it needs.
func (l *Loop) kernelFull(c *Conn) {
	c.full = true
	last := &c.replies[len(c.replies)-1]
	last.Compact()
	l.count(c, last)
}

// flush writes what waits, in one call, unless the kernel is known to be full.
func (l *Loop) flush(c *Conn) {
	if c.unsent == 0 || c.full || c.state == closed {
		return
	}
	n, err := l.writeReplies(c)
	l.tally.add(writes, 1)
	switch {
	case err == nil:
		l.wrote(c, n)
	case again(err):
		c.stalled = c.told // it has no memory for any socket (tcp_mem, tcp(7)): to ask again at once would spin
		l.kernelFull(c)
	default:
		l.close(c, causeOf(err))
	}
}

func (l *Loop) writeReplies(c *Conn) (int, error) {
	if len(c.replies) == 1 {
		return l.kernel.Write(c.fd, c.replies[0].Rest())
	}
	l.vector = l.vector[:0]
	for i := range c.replies {
		l.vector = append(l.vector, c.replies[i].Rest())
	}
	return l.kernel.Writev(c.fd, l.vector)
}

// wrote notes that the kernel took n bytes; if it didn't take all, it is full.
func (l *Loop) wrote(c *Conn, n int) {
	l.tally.add(bytesWritten, n)
	c.written += n
	c.holding.moved += n
	c.unsent -= n
	done := 0
	for n > 0 {
		r := &c.replies[done]
		part := min(n, len(r.Rest()))
		r.Advance(part)
		if n -= part; len(r.Rest()) == 0 {
			l.hold(c, -r.Held)
			r.Release()
			done++
		}
	}
	c.replies = append(c.replies[:0], c.replies[done:]...)
	if c.unsent > 0 {
		l.kernelFull(c)
	}
}
