package loop

import (
	"context"
	"fmt"
	"sync"

	"darboux/frame"
)

// Group is the loops of a server. Its methods are called by the one goroutine that
// starts and stops the server, but for Stats, which any may call.
type Group struct {
	cfg     Config
	shared  *shared
	loops   []*Loop
	running sync.WaitGroup
}

// New makes the loops. Errors name the limit that doesn't fit, or are the system's.
func New(cfg Config) (*Group, error) {
	if err := cfg.Check(); err != nil {
		return nil, err
	}
	g := &Group{cfg: cfg, shared: newShared(&cfg)}
	for range cfg.Loops {
		l, err := openLoop(&g.cfg, g.shared)
		if err != nil {
			return nil, fmt.Errorf("open a loop: %w", err)
		}
		g.loops = append(g.loops, l)
	}
	return g, nil
}

// Start lets the loops accept and serve.
func (g *Group) Start() {
	for _, l := range g.loops {
		l.retryAccept()
		l.openSockets()
		g.running.Go(l.run)
	}
}

// Drain closes the listeners, answers what was received, closes the connections and
// returns when there are none left, or with the context's error.
func (g *Group) Drain(ctx context.Context) error {
	for _, l := range g.loops {
		l.order(orderDrain)
	}
	for _, l := range g.loops {
		select {
		case <-l.drained:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// Stop closes all connections at once and returns when every burst is back and the
// loops have ended. The handlers must still run.
func (g *Group) Stop() {
	for _, l := range g.loops {
		l.order(orderStop)
	}
	g.running.Wait()
}

// Close frees the loops' descriptors. It is called after Stop, when the handlers have
// ended: until then they ring the loops' bells.
func (g *Group) Close() error {
	var first error
	for _, l := range g.loops {
		if err := l.free(); err != nil && first == nil {
			first = err
		}
	}
	return first
}

// Ledger is what must be zero when all loops have ended.
type Ledger struct {
	Pushed, Back   int // bursts; equal at the end
	CreditsOut     int
	Held, Reserved int // bytes
}

// Balanced reports whether nothing is owed.
func (b Ledger) Balanced() bool {
	return b.Pushed == b.Back && b.CreditsOut == 0 && b.Held == 0 && b.Reserved == 0
}

// Ledger returns the balance. It is called after Stop.
func (g *Group) Ledger() Ledger {
	b := Ledger{Reserved: g.shared.reserve.Stats().Taken}
	for _, l := range g.loops {
		b.Pushed += l.tally.get(burstsPushed)
		b.Back += l.tally.get(burstsBack)
		b.CreditsOut += g.cfg.credits() - l.credits
		b.Held += l.tally.get(memoryHeld)
	}
	return b
}

// Reserve returns the counters and gauges of the reserve for large frames and
// replies. Any goroutine may call it.
func (g *Group) Reserve() frame.ReserveStats { return g.shared.reserve.Stats() }
