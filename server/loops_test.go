package main

import (
	"testing"

	"darboux/handlers"
	"darboux/loop"
)

// ownLoops are loops and handlers of a test's own, with one listener.
type ownLoops struct {
	*loop.Group
	pool *handlers.Pool
	addr string
}

// startOwnLoops starts them, with so many handlers.
func startOwnLoops(t *testing.T, cfg loop.Config, poolSize int) *ownLoops {
	t.Helper()
	group, err := loop.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	addr, err := group.Listen("127.0.0.1:0", 0)
	if err != nil {
		t.Fatal(err)
	}
	l := &ownLoops{group, handlers.NewPool(poolSize, cfg.Ring, cfg.Protocols), addr.String()}
	group.Start()
	return l
}

// end ends them and looks at the ledger.
func (l *ownLoops) end(t *testing.T) {
	t.Helper()
	l.Stop()
	l.pool.Close()
	if err := l.Close(); err != nil {
		t.Error(err)
	}
	if ledger := l.Ledger(); !ledger.Balanced() {
		t.Errorf("the ledger is not balanced: %+v", ledger)
	}
}
