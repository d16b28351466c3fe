package run

import (
	"context"
	"errors"
	"io"
	"net"
	"time"

	"darboux/loadtest/wire"
)

const (
	readBuffer = 64 << 10 // bytes a lane reads at once
	manyLanes  = 1000     // from here on lanes read less at once, so that memory stays small
	lessBuffer = 8 << 10

	firstPause = 10 * time.Millisecond // after a failed connect; doubles
	lastPause  = time.Second

	connectsAtOnce = 128 // a listener's backlog is short
)

// live keeps the lane connected until the run is over. dialed is called once,
// after the first attempt.
func (l *lane) live(ctx context.Context, dialed func()) {
	in := make([]byte, l.run.bufferSize())
	conn, err := l.run.dial(ctx)
	dialed()
	<-l.run.started
	pause := firstPause
	for {
		useful := err == nil && l.serve(conn, in)
		if ctx.Err() != nil || l.run.stopped.Load() || l.run.over() {
			return // told to stop, a server owes no further connection
		}
		if useful {
			pause = firstPause
		} else {
			wait(ctx, pause)
			pause = min(2*pause, lastPause)
		}
		conn, err = l.run.dial(ctx)
	}
}

// serve sends and receives on conn until it ends, and accounts for what was in
// flight. It tells whether anything was received: if not, the next attempt
// should not follow at once.
func (l *lane) serve(conn wire.Conn, in []byte) (useful bool) {
	l.begin(conn)
	var err error
	for err == nil {
		var n int
		n, err = conn.Read(in)
		now := l.run.now()
		l.mu.Lock()
		if n > 0 {
			useful = true
			l.take(in[:n], now)
		}
		if err == nil {
			l.goOn()
		}
		l.mu.Unlock()
	}
	conn.Close()     // the error that matters was Read's
	l.writing.Wait() // its write has failed, or fails now
	l.mu.Lock()
	l.end(err)
	l.mu.Unlock()
	l.run.nudge()
	return useful
}

// goOn does what is to be done when there is room again: after replies, or when the socket
// has taken what was written. Call it locked.
func (l *lane) goOn() {
	if l.run.pacer == nil {
		l.refill()
	} else {
		l.wind()
	}
}

func (l *lane) begin(conn wire.Conn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.conn, l.replies, l.quit = conn, wire.Replies{}, goesOn
	l.sentHere, l.finishing, l.halfSince = 0, false, 0
	l.out.Clear()
	l.goOn()
	l.run.nudge()
}

// explain tells why the server ended a connection.
func (l *lane) explain(err error) string {
	if l.replies.HTTP() {
		return wire.HTTPHint
	}
	return plain(err)
}

// end accounts for a connection that is no more, err being what Read said.
func (l *lane) end(err error) {
	now := l.run.now()
	byServer := l.quit == goesOn && !(l.halfSince > 0 && errors.Is(err, io.EOF))
	if byServer {
		l.run.endedByServer.Add(1)
		if l.waiting > 0 || !errors.Is(err, io.EOF) {
			l.run.errors.note("ended by the server", l.explain(err))
		}
	} else {
		l.run.endedByClient.Add(1)
	}
	switch {
	case l.halfSince == 0:
	case l.quit == timedOut && l.waiting == 0:
		l.run.errors.note("half-close", "no end of stream after the last reply")
	case l.quit == goesOn && l.waiting > 0:
		l.run.errors.note("half-close", "the stream ended before the last reply")
	}
	l.abandon(now)
	l.conn = nil
}

// plain is an error without addresses and ports, which differ each time.
func plain(err error) string {
	var op *net.OpError
	if errors.As(err, &op) {
		return op.Err.Error()
	}
	return err.Error()
}

// wait pauses for d, or until ctx is done.
func wait(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}
