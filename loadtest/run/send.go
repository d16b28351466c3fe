package run

import "darboux/loadtest/workload"

// chunk bounds the bytes of requests that are made before they are offered to
// the socket.
const chunk = 256 << 10

// refill keeps the closed loop's requests outstanding. Call it locked.
func (l *lane) refill() {
	for l.ready() {
		n := l.run.claim(min(int64(l.run.config.Pipeline)-l.waiting, l.room(), l.run.atOnce))
		if n == 0 {
			break
		}
		micros := l.run.micros()
		for made := int64(0); made < n; {
			kind, some := l.make(n-made, micros)
			l.flight.push(kind, some, 0)
			made += some
		}
		l.offer(true)
	}
	l.wind()
}

// give takes up to n requests from the pacer and returns how many it took.
func (l *lane) give(n int64, due func() int64) int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.ready() {
		return 0
	}
	n = max(0, min(n, l.room(), l.run.atOnce))
	if n > 0 {
		micros := l.run.micros()
		for made := int64(0); made < n; {
			kind, some := l.make(n-made, micros)
			for range some {
				l.flight.push(kind, 1, due())
			}
			made += some
		}
		l.offer(false)
	}
	l.wind()
	return n
}

// ready tells whether the lane may take a request. Call it locked.
func (l *lane) ready() bool {
	return l.conn != nil && !l.blocked && !l.finishing && l.quit == goesOn
}

// room is how many requests this connection may still send.
func (l *lane) room() int64 {
	if l.run.config.PerConn == 0 {
		return MaxPipeline
	}
	return int64(l.run.config.PerConn - l.sentHere)
}

// make appends up to n requests of one kind, which it returns with their number.
func (l *lane) make(n, micros int64) (workload.Kind, int64) {
	kind, made := l.source.Append(&l.out, int(n), micros)
	l.waiting += int64(made)
	l.sentHere += made
	return kind, int64(made)
}

// offer stamps the new requests and gives their bytes to the socket; what it
// does not take is left to writeRest. In the closed loop (due now) the actual
// start is the intended one. Call it locked.
func (l *lane) offer(dueNow bool) {
	now := l.run.now()
	l.record.Lock()
	l.run.joined(l.stamp(now, dueNow))
	all := l.out.Bytes()
	n, err := l.conn.TryWrite(all)
	l.record.Wrote(int64(n), now)
	l.record.Unlock()
	switch {
	case err != nil:
		l.finishing = true // the reader meets the same error, or what the server said before it
	case n < len(all):
		l.taken, l.blocked = n, true
		l.writing.Add(1)
		go l.rest()
		return
	}
	l.out.Clear()
}

// stamp gives all unsent requests their start and returns how many they are.
func (l *lane) stamp(now int64, dueNow bool) int64 {
	first := l.flight.tail
	for first != l.flight.head && l.flight.at(first-1).actual == unsent {
		first--
	}
	sent := int64(0)
	for i := first; i != l.flight.tail; i++ {
		g := l.flight.at(i)
		g.actual = now
		if dueNow {
			g.intended = now
		} else {
			l.run.pacer.noteLate(g, now)
		}
		events := int64(0)
		if g.kind == workload.Events {
			events = g.n * int64(l.run.config.Workload.Batch())
		}
		l.record.Sent(g.kind, g.n, events, g.intended)
		sent += g.n
	}
	return sent
}

// writeRest waits until the socket has taken what it did not take at once, and
// goes on sending.
func (l *lane) writeRest() {
	defer l.writing.Done()
	n, err := l.conn.Write(l.out.Bytes()[l.taken:])
	l.mu.Lock()
	defer l.mu.Unlock()
	l.record.Lock()
	l.record.Wrote(int64(n), l.run.now())
	l.record.Unlock()
	l.out.Clear()
	l.blocked = false
	if err != nil {
		l.finishing = true
		return // as in offer
	}
	l.goOn()
	l.run.nudge()
}

// wind ends a connection that has sent its share: its last request is written,
// so the sending side may be shut down. Call it locked.
func (l *lane) wind() {
	if l.conn == nil || l.blocked || l.quit != goesOn {
		return
	}
	if l.run.config.PerConn > 0 && l.sentHere >= l.run.config.PerConn || l.run.over() {
		l.finishing = true
	}
	if l.finishing && l.run.config.HalfClose && l.halfSince == 0 {
		l.halfSince = max(1, l.run.now())
		if err := l.conn.CloseWrite(); err != nil {
			l.run.errors.note("half-close", plain(err))
		}
	}
	if l.finishing && l.waiting == 0 && !l.run.config.HalfClose {
		l.close(completed)
	}
}
