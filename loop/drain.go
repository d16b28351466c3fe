package loop

// drain takes nothing new, answers what was received, and closes: the listeners are
// emptied of the connections that were accepted for us, each connection is read a
// last time.
func (l *Loop) drain() {
	l.draining = true
	for _, ln := range l.listeners {
		for l.accept(ln) {
		}
		l.closeListener(ln)
	}
	l.listeners = nil
	for _, c := range l.conns {
		if c != nil {
			l.drainConn(c)
		}
	}
	l.checkDrained()
}

// drainConn lets a connection finish. One that has been quiet and owes nothing is
// closed at once: nothing is on its way that a reset could destroy.
func (l *Loop) drainConn(c *Conn) {
	if c.state != open {
		return
	}
	if c.datagrams { // it is closed once it is found empty
		c.state, c.reason = finishing, drained
		l.settle(c)
		return
	}
	quiet := l.now.Sub(c.lastRead) > drainLinger
	if c.reading() {
		l.read(c)
	}
	if c.state != open {
		l.settle(c)
		return
	}
	c.state, c.reason = finishing, drained
	c.eof = quiet && len(c.unread()) == 0 && c.burst == nil && c.unsent == 0
	l.settle(c)
}

// checkDrained says so when a draining loop has no connection and no UDP socket left.
func (l *Loop) checkDrained() {
	if l.draining && l.tally.get(conns)+l.tally.get(sockets) == 0 {
		l.draining = false
		close(l.drained)
	}
}

// stop closes everything at once.
func (l *Loop) stop() {
	l.stopping = true
	for _, ln := range l.listeners {
		l.closeListener(ln)
	}
	l.listeners = nil
	for _, c := range l.conns {
		if c != nil {
			l.close(c, stopped)
		}
	}
}
