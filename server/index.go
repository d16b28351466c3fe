package main

import (
	"context"
	"fmt"
	"time"

	"darboux/handlers/index"
)

const (
	// kernelPart is the part of the machine's memory, as a divisor, that auto leaves to
	// the kernel and others.
	kernelPart = 16
	// leastIndexPart is the part that auto gives the index at least, whatever else may
	// need memory; the start then says that it is too much together.
	leastIndexPart = 4
)

// indexPart is what --index-memory auto comes to, where the machine has so many bytes
// and everything else may need that many.
func indexPart(machine, others int64) int64 {
	left := machine - machine/kernelPart - others
	return min(max(left, machine/leastIndexPart, index.LeastMemory(0)), index.MaxMemory) / mib * mib
}

// newIndex makes the empty index.
func (s *server) newIndex() *index.Index {
	o := s.o
	return index.New(index.Config{
		DefaultTTL:   float32(o.TTL.Seconds()),
		NewestWins:   o.NewestWins,
		ExpireKeep:   o.ExpireKeep,
		Entries:      index.Limit{Flag: "--index-entries", Value: int64(o.IndexEntries)},
		Memory:       index.Limit{Flag: "--index-memory", Value: o.IndexMemory},
		StreamMemory: index.Limit{Flag: "--stream-memory", Value: o.StreamMemory},
		Report:       func(kind, text string) { s.report.Report(kind, "", text) },
	})
}

// startIndex fills the index from its snapshot and sees to it that one is written at
// the end. It returns early with ctx.
func (s *server) startIndex(ctx context.Context) error {
	s.parts = append(s.parts, part{"index", s.closeIndex})
	if s.o.Snapshot == "" {
		return nil
	}
	s.snapshots = newSnapshots(s.o, s.store, s.log)
	if err := s.snapshots.load(ctx, time.Now()); err != nil {
		return fmt.Errorf("--snapshot: %w", err)
	}
	s.snapshots.start()
	s.parts = append(s.parts, part{"snapshots", s.snapshots.stop})
	return nil
}

func (s *server) closeIndex(context.Context) error {
	if s.snapshots == nil || !s.snapshots.stuck.Load() {
		s.store.Close()
	}
	return nil
}

// snapshotNow asks for a snapshot, because of the signal so named.
func (s *server) snapshotNow(signal string) {
	if s.snapshots == nil {
		s.log.Warn("no snapshot is written: --snapshot names no file", "signal", signal)
		return
	}
	s.snapshots.askFor(signal)
}
