package loop

import (
	"golang.org/x/sys/unix"
)

// again reports whether an error only says that the call is to be made later.
func again(err error) bool { return err == unix.EAGAIN || err == unix.EINTR }

// read reads once what the peer has sent, as far as there is room for it.
func (l *Loop) read(c *Conn) {
	dst := l.roomToRead(c)
	if len(dst) == 0 {
		return
	}
	n, err := l.kernel.Read(c.fd, dst)
	l.tally.add(reads, 1)
	if c.paused != 0 {
		l.tally.add(readsPaused, 1)
	}
	switch {
	case err == nil && n > 0:
		l.received(c, dst[:n])
	case err == nil:
		l.endOfStream(c)
	case !again(err):
		l.close(c, causeOf(err))
	}
}

// received takes in what was read: from the scratch buffer, or read in place.
func (l *Loop) received(c *Conn, p []byte) {
	l.tally.add(bytesRead, len(p))
	c.receiving.moved += len(p)
	c.holding.moved += len(p)
	c.lastRead = l.now
	if &p[0] != &l.scratch[0] {
		c.in = c.in[:len(c.in)+len(p)]
		return
	}
	if cap(c.in)-len(c.in) < len(p) {
		l.resize(c, len(c.unread())+len(p))
	}
	c.in = append(c.in, p...)
}

// resize moves what is unread into a buffer for size bytes.
func (l *Loop) resize(c *Conn, size int) {
	old := c.in
	buf := append(l.buffers.get(size), c.unread()...)
	l.hold(c, cap(buf))
	c.in, c.inOff = buf, 0
	l.promise(c) // before others are fed with what the old one held
	l.hold(c, -cap(old))
	l.buffers.put(old)
}

// dropInput gives the input buffer back. What it held of the reserve stays with
// the claim.
func (l *Loop) dropInput(c *Conn) {
	if c.in == nil {
		return
	}
	if !c.reserved {
		l.hold(c, -cap(c.in))
	}
	l.buffers.put(c.in)
	c.in, c.inOff = nil, 0
	l.promise(c)
}

// endOfStream notes that the peer sends nothing more. What it has sent is still
// answered; the rest of a frame that it didn't finish is dropped.
func (l *Loop) endOfStream(c *Conn) {
	c.eof = true
	c.state = finishing
}
