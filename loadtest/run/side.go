package run

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"darboux/loadtest/measure"
	"darboux/loadtest/result"
	"darboux/loadtest/wire"
)

// sideRun are the ill-behaved connections of a run.
type sideRun struct {
	state *state
	side  *Side
	done  sync.WaitGroup

	requests, replies, bytesOut, bytesIn, ended, connectErrors atomic.Int64

	mu      sync.Mutex // guards latency
	latency *measure.Histogram
}

// slowQueries is how many requests a SlowReader keeps outstanding: enough that
// the server always has something for it.
const slowQueries = 4

// startSide starts them; they end with ctx.
func startSide(ctx context.Context, r *state, s *Side) *sideRun {
	x := &sideRun{state: r, side: s, latency: measure.NewHistogram()}
	for i := range s.Connections {
		x.done.Go(func() { x.live(ctx, i) })
	}
	return x
}

func (x *sideRun) live(ctx context.Context, number int) {
	for ctx.Err() == nil {
		conn, err := x.state.config.Dial(ctx)
		if err != nil {
			x.connectErrors.Add(1)
			wait(ctx, lastPause)
			continue
		}
		closed := context.AfterFunc(ctx, func() { conn.Close() })
		x.misbehave(ctx, conn, number)
		if closed() {
			conn.Close()
			x.ended.Add(1)
			wait(ctx, firstPause)
		}
	}
}

// misbehave returns when the connection has ended.
func (x *sideRun) misbehave(ctx context.Context, conn wire.Conn, number int) {
	switch x.side.Kind {
	case Flood:
		for i := number; x.write(conn, i); i++ {
		}
	case SlowReader:
		x.readSlowly(ctx, conn, number)
	case SlowQuery:
		x.askAgain(conn, number)
	default:
		panic("BUG: unknown kind of side connections: " + x.side.Kind)
	}
}

func (x *sideRun) write(conn wire.Conn, i int) bool {
	n, err := conn.Write(x.side.Requests[i%len(x.side.Requests)])
	x.bytesOut.Add(int64(n))
	if err == nil {
		x.requests.Add(1)
	}
	return err == nil
}

// readSlowly keeps a few requests outstanding and takes the answers at the rate
// that was asked for, in ten portions a second.
func (x *sideRun) readSlowly(ctx context.Context, conn wire.Conn, number int) {
	const portions = 10
	in := make([]byte, max(1, x.side.ReadRate/portions))
	var replies wire.Replies
	for i := range slowQueries {
		if !x.write(conn, number+i) {
			return
		}
	}
	for {
		wait(ctx, time.Second/portions)
		n, err := conn.Read(in)
		for range x.count(&replies, in[:n]) {
			if !x.write(conn, number) {
				return
			}
		}
		if err != nil {
			return
		}
	}
}

// askAgain sends a request when the last one is answered.
func (x *sideRun) askAgain(conn wire.Conn, number int) {
	in := make([]byte, readBuffer)
	var replies wire.Replies
	for i := number; ; i++ {
		start := x.state.now()
		if !x.write(conn, i) {
			return
		}
		for {
			n, err := conn.Read(in)
			if x.count(&replies, in[:n]) > 0 {
				break
			}
			if err != nil {
				return
			}
		}
		x.mu.Lock()
		x.latency.Record(x.state.now()-start, 1)
		x.mu.Unlock()
	}
}

// count tells how many replies end in b.
func (x *sideRun) count(replies *wire.Replies, b []byte) (n int) {
	x.bytesIn.Add(int64(len(b)))
	for len(b) > 0 {
		used, o := replies.Next(b)
		b = b[used:]
		if o != wire.Partial {
			n++
		}
	}
	x.replies.Add(int64(n))
	return n
}

// result waits for the end of all of them.
func (x *sideRun) result() *result.Side {
	x.done.Wait()
	return &result.Side{
		Kind: x.side.Kind, Connections: x.side.Connections,
		Requests: x.requests.Load(), Replies: x.replies.Load(),
		BytesOut: x.bytesOut.Load(), BytesIn: x.bytesIn.Load(),
		EndedByServer: x.ended.Load(), ConnectErrors: x.connectErrors.Load(),
		Latency: x.latency.Quantiles(),
	}
}
