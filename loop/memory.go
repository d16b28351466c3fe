package loop

import "darboux/frame"

// hold counts n more bytes, or less, for a connection and its loop. Less bytes let
// those read again that wait for memory.
func (l *Loop) hold(c *Conn, n int) {
	c.held += n
	l.holdShare(n)
}

func (l *Loop) holdShare(n int) {
	l.tally.add(memoryHeld, n)
	if n < 0 {
		l.feed()
	}
}

// feed lets those who wait for memory read again, in the order of their coming, while
// there is what they wait for.
func (l *Loop) feed() {
	for e := l.lines[forMemory].Front(); e != nil; e = l.lines[forMemory].Front() {
		c := e.Value.(*Conn)
		if !l.hasShare(c.short) {
			return
		}
		l.dequeue(forMemory, c)
		l.setPaused(c, memory, false)
		l.review(c)
	}
}

// hasShare reports whether the loop's share has room for n more bytes, beside what is held
// and what is promised.
func (l *Loop) hasShare(n int) bool {
	return l.tally.get(memoryHeld)+l.promised+n <= l.cfg.share()
}

// promise keeps room for what a connection's next burst will take when it is made, as far
// as that is not what its burst has now. It is called whenever either has changed.
func (l *Loop) promise(c *Conn) {
	n := split(c.inHeld())
	if c.burst != nil && c.burst.Claim == 0 {
		n = max(0, n-cap(c.burst.Store))
	}
	less := n < c.promised
	l.promised += n - c.promised
	c.promised = n
	if less {
		l.feed()
	}
}

// ownRoom is how many bytes may be received so that, in a buffer of its size class, they
// stay within the connection's own budget.
func (l *Loop) ownRoom(c *Conn) int {
	return sizeWithin(l.cfg.ConnMemory.Value-(c.held-c.inHeld())) - len(c.unread())
}

// hasOwnRoom reports whether a connection paused at its own budget is to be read
// again: the rest of the frame that has begun must fit, or else enough to be worth a
// call. A frame that has its room from the reserve waits only for what is in front of it.
func (l *Loop) hasOwnRoom(c *Conn) bool {
	missing := c.need - len(c.unread())
	switch {
	case c.reserved:
		return missing > 0
	case l.needsReserve(c):
		return !c.busy()
	case missing > 0:
		return l.ownRoom(c) >= sizeFor(c.need)-len(c.unread())
	}
	return l.ownRoom(c) >= leastRead
}

// inHeld is the part of held that the input buffer makes up.
func (c *Conn) inHeld() int {
	if c.reserved {
		return 0
	}
	return cap(c.in)
}

// roomToRead returns where to read to, or nothing after it has paused the
// connection. A frame that has begun has its whole length counted before more of it
// is read: from the loop's share, or from the reserve if it is too large for the
// connection's own budget or the share is used up. The reserve serves claims in
// their turn and each one can be completed, so no two frames wait for each other. But a
// large frame may bring its first bytes without, so that it costs nothing to announce one.
func (l *Loop) roomToRead(c *Conn) []byte {
	begun := c.need > len(c.unread())
	switch {
	case c.claim != nil:
		return l.roomInReserve(c)
	case l.needsReserve(c):
		return l.roomForLarge(c)
	case begun && c.need > cap(c.in)-c.inOff:
		return l.roomForFrame(c)
	case begun && c.need > len(l.scratch):
		return c.in[len(c.in):cap(c.in)]
	}
	return l.roomInScratch(c)
}

// roomForFrame gives the frame that has begun a buffer for its whole length.
func (l *Loop) roomForFrame(c *Conn) []byte {
	size := sizeFor(c.need)
	if size-len(c.unread()) > l.ownRoom(c) {
		l.setPaused(c, ownBudget, true)
		return nil
	}
	l.resize(c, c.need)
	return l.roomToRead(c)
}

// roomInScratch returns as much of the scratch buffer as the budgets have room for.
func (l *Loop) roomInScratch(c *Conn) []byte {
	room := min(len(l.scratch), l.ownRoom(c))
	if room < leastRead && room < cap(c.in)-len(c.in) {
		room = cap(c.in) - len(c.in)
	}
	if room <= 0 {
		l.setPaused(c, ownBudget, true)
		return nil
	}
	size := sizeFor(len(c.unread()) + room)
	growth := size + split(size) - c.inHeld() - c.promised
	if l.hasShare(growth) {
		return l.scratch[:min(room, len(l.scratch))]
	}
	room = max(cap(c.in)-len(c.in), Floor-c.held)
	if room <= 0 {
		l.waitForMemory(c, growth)
		return nil
	}
	return l.scratch[:min(room, len(l.scratch))]
}

// split is what a buffer of this size may take beside it when its frames become a burst and
// what follows them is kept: a copy of a burst, or of what follows a large frame.
func split(size int) int { return max(min(size, BurstSize), size/2) }

// waitForMemory puts a connection in line for n bytes of the loop's share.
func (l *Loop) waitForMemory(c *Conn, n int) {
	l.setPaused(c, memory, true)
	c.short = n
	l.enqueue(forMemory, c)
}

// needsReserve reports whether the frame that has begun is to have its room from the
// reserve: it is too large for the connection's own budget, or the share is used up.
func (l *Loop) needsReserve(c *Conn) bool {
	switch {
	case c.need <= len(c.unread()):
		return false
	case c.need > l.cfg.connRoom():
		return true
	}
	size := sizeFor(c.need)
	return c.need > cap(c.in)-c.inOff && c.held+size > Floor && !l.hasShare(size+split(size)-c.promised)
}

// firstPart is how many bytes of a large frame come before its claim is made, as long as
// the share has room for them.
const firstPart = readSize

// roomForLarge returns where to read the first part of a frame that will need the
// reserve, and then makes its claim. Nothing of its connection is in front of it by then:
// so it doesn't hold the room while the peer takes replies, or we work on something else.
func (l *Loop) roomForLarge(c *Conn) []byte {
	if c.busy() {
		l.setPaused(c, ownBudget, true)
		return nil
	}
	if left := firstPart - len(c.unread()); left > 0 && l.hasShare(firstPart+split(firstPart)-c.inHeld()-c.promised) {
		return l.scratch[:left]
	}
	c.claim = &frame.Claim{Bytes: c.need, Address: c.address, Call: l.granted}
	if l.shared.reserve.Ask(c.claim) {
		l.moveToReserve(c)
		return l.roomInReserve(c)
	}
	l.setPaused(c, memory, true)
	l.enqueue(forReserve, c)
	return nil
}

// roomInReserve returns what is free of the buffer for a frame that the reserve has granted.
func (l *Loop) roomInReserve(c *Conn) []byte {
	switch len(c.in) {
	case c.need: // it is whole, and waits to be handed over
		l.setPaused(c, ownBudget, true)
		return nil
	case cap(c.in):
		c.in = l.growInReserve(c)
	}
	return c.in[len(c.in):min(cap(c.in), c.need)]
}

// granted tells the loop that a claim is granted. Any goroutine may call it.
func (l *Loop) granted() {
	l.grants.Add(1)
	l.bell.ring()
}

// takeGrants lets those go on whose claims are granted.
func (l *Loop) takeGrants() {
	l.grants.Store(0)
	for e := l.lines[forReserve].Front(); e != nil; {
		c := e.Value.(*Conn)
		e = e.Next()
		if !c.claim.Granted() {
			continue
		}
		l.dequeue(forReserve, c)
		l.moveToReserve(c)
		l.setPaused(c, memory, false)
		l.review(c)
	}
}

// moveToReserve moves the beginning of a large frame into memory of the reserve, which was
// granted for the whole of it.
func (l *Loop) moveToReserve(c *Conn) {
	held := cap(c.in)
	c.in, c.inOff, c.reserved = l.growInReserve(c), 0, true
	l.hold(c, -held)
	l.promise(c)
}

// Growth is by how much the buffer of a frame in the reserve grows each time, up to what was
// granted: so it takes no time, and no memory, for bytes that may never come. While it grows
// the old one stands beside it.
const Growth = 4

// growInReserve moves what is unread into a larger buffer.
func (l *Loop) growInReserve(c *Conn) []byte {
	size := c.claim.Bytes
	for size/Growth >= max(leastRead, 2*len(c.unread())) {
		size /= Growth
	}
	buf := append(make([]byte, 0, size), c.unread()...)
	l.buffers.put(c.in)
	return buf
}

// unclaim gives back what a connection asked, or has got, of the reserve.
func (l *Loop) unclaim(c *Conn) {
	if c.claim == nil {
		return
	}
	if !l.shared.reserve.Withdraw(c.claim) {
		l.shared.reserve.Release(c.claim.Bytes)
	}
	l.dequeue(forReserve, c)
	c.claim, c.reserved = nil, false
}
