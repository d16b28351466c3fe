package loop

import "darboux/frame"

// dispatch hands over the frames that a connection has ready, unless it has a burst
// out already, must wait for its window or a turn, or all credits are out.
func (l *Loop) dispatch(c *Conn) { l.dispatchTo(c, l.isBrief) }

func (l *Loop) dispatchTo(c *Conn, onLoop func(*Conn) bool) {
	cut, ok := l.ready(c)
	if !ok || c.places[forTurn] != nil || !l.takeCredit(c) {
		return
	}
	if c.burst == nil {
		l.fill(c, cut)
	}
	l.push(c, onLoop(c))
}

// dispatchNext is dispatch after the connection's turn in this round is used: where
// bursts are worked on the loop, others go first.
func (l *Loop) dispatchNext(c *Conn) {
	if l.cfg.Ring != nil {
		l.dispatchTo(c, never)
		return
	}
	if _, ok := l.ready(c); ok {
		l.waitForTurn(c)
	}
}

// ready reports whether there is something to hand over and room for its replies: a
// burst that waits here, or the frames of a cut.
func (l *Loop) ready(c *Conn) (frame.Cut, bool) {
	if c.where == out || c.unsent > l.mark() {
		return frame.Cut{}, false
	}
	if c.burst != nil {
		return frame.Cut{}, true
	}
	cut := l.cut(c)
	return cut, cut.Frames > 0
}

// mark is how many unsent bytes a connection may have whose next burst is to go out. Where
// memory is short it has none, so that what it holds beyond the share doesn't add up.
func (l *Loop) mark() int {
	if !l.hasShare(frame.OwnReply) {
		return 0
	}
	return lowMark
}

// cut looks for whole frames at the head of what is received. A frame that is
// refused lets those in front of it be worked first.
func (l *Loop) cut(c *Conn) frame.Cut {
	if len(c.unread()) == 0 || c.refusal != nil {
		return frame.Cut{}
	}
	cut, err := c.protocol.Cut(c.unread(), c.protocol.MaxFrame, BurstSize, c.eof, &c.progress)
	c.inOff += cut.Skip
	if c.partial = cut.Frames == 0; !c.partial {
		return cut
	}
	c.need = cut.Need
	switch {
	case err != nil:
		l.refuse(c, err)
	case cut.Interim != nil:
		l.queue(c, frame.NewReply(func(dst []byte) []byte { return append(dst, cut.Interim...) }))
	case len(c.unread()) == 0: // all was skipped
		l.dropInput(c)
	}
	return cut
}

// takeCredit takes a credit for a burst, or puts the connection in line for one.
func (l *Loop) takeCredit(c *Conn) bool {
	if l.cfg.Ring == nil {
		return true
	}
	where := forCredit
	if c.burst != nil && c.burst.Kept != nil {
		where = forPiece
	}
	if l.credits == 0 {
		l.enqueue(where, c)
		return false
	}
	l.dequeue(where, c)
	l.credits--
	return true
}

// fill makes a burst of the whole frames at the head of what is received. Whichever
// is shorter is copied: the burst, or what follows it.
func (l *Loop) fill(c *Conn, cut frame.Cut) {
	b := l.newBurst()
	b.Peer, b.Kind, b.Home, b.Owner, b.Extra = c.peer, c.kind, l, c.fd, l.shared.reserve
	l.tally.add(framesCut, cut.Frames)
	if c.silent {
		c.silent = false
		l.shared.spoke(c)
	}
	rest := c.unread()[cut.Bytes:]
	if !c.reserved && len(rest) > cut.Bytes {
		b.Store = append(l.buffers.get(cut.Bytes), c.unread()[:cut.Bytes]...)
		b.In = b.Store
		l.hold(c, cap(b.Store))
		c.inOff += cut.Bytes
	} else {
		l.moveInput(c, b, cut.Bytes)
	}
	c.burst, c.need, c.progress = b, cut.Need, cut.Behind
	l.promise(c)
}

// moveInput gives the input buffer to the burst and copies what follows its frames.
func (l *Loop) moveInput(c *Conn, b *frame.Burst, n int) {
	b.Store, b.In = c.in, c.unread()[:n]
	rest := c.unread()[n:]
	if c.reserved {
		b.Claim, c.claim, c.reserved = c.claim.Bytes, nil, false
	}
	c.in, c.inOff = nil, 0
	if len(rest) > 0 {
		c.in = append(l.buffers.get(len(rest)), rest...)
		l.hold(c, cap(c.in))
	}
}

func (l *Loop) newBurst() *frame.Burst {
	last := len(l.spare) - 1
	if last < 0 {
		return new(frame.Burst)
	}
	b := l.spare[last]
	l.spare = l.spare[:last]
	return b
}

// push lets a burst out. From here it is the handler's until it comes back, unless the
// loop works it itself.
func (l *Loop) push(c *Conn, brief bool) {
	b := c.burst
	l.giveRoom(c, b)
	c.where = out
	l.tally.add(burstsPushed, 1)
	l.tally.add(burstsOut, 1)
	switch {
	case l.cfg.Ring == nil:
		l.work(c)
	case brief:
		l.workBrief(c)
	default:
		l.handOver(b)
	}
}

func (l *Loop) handOver(b *frame.Burst) {
	if !l.cfg.Ring.Push(b) {
		panic("BUG: the ring is full, though there are no more credits than slots")
	}
}

// giveRoom counts room for the burst's replies: for a window and one reply, or as little
// as keeps small ones going where the loop's share is used up.
func (l *Loop) giveRoom(c *Conn, b *frame.Burst) {
	if b.Own == 0 { // one that goes on in the middle of a reply has its room
		room := frame.OwnReply
		if !l.hasShare(room) {
			room = Floor
		}
		l.holdShare(room)
		b.Start(room)
	}
	b.Unsent = c.unsent
	b.Window = max(1, min(Window, b.Own/2)-c.unsent) // at least one frame is worked
}

// dropRoom gives the room for the burst's replies back, when they are counted by
// themselves.
func (l *Loop) dropRoom(b *frame.Burst) {
	l.holdShare(-b.Own)
	b.Own = 0
}

// Awaited reports whether connections wait for a credit. Any goroutine may call it.
func (l *Loop) Awaited() bool { return l.tally.get(waitingCredit) > 0 }

// GiveBack takes a burst from a handler. Any goroutine may call it.
func (l *Loop) GiveBack(b *frame.Burst) {
	if !l.back.Push(b) {
		panic("BUG: the way back is full, though it has a slot for each credit")
	}
	l.bell.ring()
}

// takeBack takes in a burst that a handler gave back. Its credit goes to those who wait
// for one, before its own connection may take one again.
func (l *Loop) takeBack(b *frame.Burst) {
	l.returnCredit()
	c := l.landed(b)
	l.passCredits()
	if c != nil {
		l.settle(c)
	}
}

// passCredits lets those go on that wait for a credit: one with a fresh burst and one in the
// middle of a reply in turns, so that a small request doesn't wait for a piece of each of
// the long replies.
func (l *Loop) passCredits() {
	for l.credits > 0 {
		first, second := forCredit, forPiece
		if l.piece = !l.piece; l.piece {
			first, second = second, first
		}
		c := l.first(first)
		if c == nil {
			c = l.first(second)
		}
		if c == nil {
			return
		}
		l.settle(c)
	}
}

// returnCredit takes a credit back.
func (l *Loop) returnCredit() {
	if l.cfg.Ring != nil {
		l.credits++
	}
}

// landed takes a burst in and returns its connection, or nil if that is closed.
func (l *Loop) landed(b *frame.Burst) *Conn {
	l.tally.add(burstsBack, 1)
	l.tally.add(burstsOut, -1)
	c := l.conn(b.Owner)
	if c == nil || c.burst != b {
		l.dropOrphan(b)
		return nil
	}
	if b.Status == frame.Yielded { // in the middle of a reply, so none leaves
		c.where = suspended
		if l.cfg.Ring == nil {
			l.waitForTurn(c)
		}
		return c
	}
	l.queue(c, b.TakeReply())
	l.dropRoom(b)
	if b.Status == frame.Blocked {
		c.where = blocked
		if b.In == nil {
			held := l.dropStore(b)
			l.promise(c)
			l.hold(c, -held)
		}
		return c
	}
	if b.Close {
		l.closeBehind(c)
	}
	b.GiveUp()
	c.burst, c.where = nil, none
	l.promise(c) // before others are fed with what the burst held
	l.hold(c, -l.dropBurst(b))
	return c
}

// dropOrphan gives up a burst whose connection was closed while it was out; the
// replies go nowhere.
func (l *Loop) dropOrphan(b *frame.Burst) {
	l.tally.add(burstsGone, 1)
	b.GiveUp()
	r := b.TakeReply()
	r.Release()
	l.dropRoom(b)
	l.holdShare(-l.dropBurst(b))
}

// keepSpare is how many burst structures a loop keeps for reuse.
const keepSpare = 1024

// dropBurst gives the burst's buffers back and returns how many bytes of the
// connection's budget that frees.
func (l *Loop) dropBurst(b *frame.Burst) int {
	held := l.dropStore(b)
	b.Clear()
	if len(l.spare) < keepSpare {
		l.spare = append(l.spare, b)
	}
	return held
}

// dropStore is dropBurst for the frames alone.
func (l *Loop) dropStore(b *frame.Burst) int {
	held := cap(b.Store)
	if b.Claim > 0 {
		l.shared.reserve.Release(b.Claim)
		held = 0
	}
	l.buffers.put(b.Store)
	b.In, b.Store, b.Claim = nil, nil, 0
	return held
}
