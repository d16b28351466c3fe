package wire

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"
)

// Guard closes a connection when its context is done or nothing was heard for
// too long. It is for plain conversations, one request after another.
type Guard struct {
	timeout time.Duration
	timer   *time.Timer
	stop    func() bool
	expired atomic.Bool
}

// NewGuard guards conn until Stop.
func NewGuard(ctx context.Context, conn Conn, timeout time.Duration) *Guard {
	g := &Guard{timeout: timeout}
	g.timer = time.AfterFunc(timeout, func() {
		g.expired.Store(true)
		conn.Close() // whoever uses it meets the error
	})
	g.stop = context.AfterFunc(ctx, func() { conn.Close() })
	return g
}

// Heard tells that the conversation goes on.
func (g *Guard) Heard() { g.timer.Reset(g.timeout) }

// Stop ends the guarding.
func (g *Guard) Stop() {
	g.timer.Stop()
	g.stop()
}

// Explain returns err, or what the guard did to cause it.
func (g *Guard) Explain(err error) error {
	if err != nil && g.expired.Load() {
		return fmt.Errorf("no answer within %s", g.timeout)
	}
	return err
}
