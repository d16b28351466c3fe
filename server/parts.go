package main

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"time"
)

// A part is something that was started and has to be stopped. stop should mind its
// context's deadline and return an error if it left anything undone.
type part struct {
	name string
	stop func(ctx context.Context) error
}

// parts are in the order of their start.
type parts []part

// stop stops the parts in reverse order, each whatever became of the others, and
// logs each with the time it took.
func (ps parts) stop(ctx context.Context, log *slog.Logger) error {
	var errs []error
	for _, p := range slices.Backward(ps) {
		begin := time.Now()
		err := p.stop(ctx)
		took := time.Since(begin).Round(time.Microsecond)
		if err != nil {
			errs = append(errs, err)
			log.Error("stopped with an error", "part", p.name, "took", took, "error", err)
			continue
		}
		log.Info("stopped", "part", p.name, "took", took)
	}
	return errors.Join(errs...)
}

// periodic starts a part that calls f at every interval until it is stopped. stop
// waits for the call under way.
func periodic(name string, interval time.Duration, f func(now time.Time)) part {
	done := make(chan struct{})
	var running sync.WaitGroup
	running.Go(func() {
		ticks := time.NewTicker(interval)
		defer ticks.Stop()
		for {
			select {
			case now := <-ticks.C:
				f(now)
			case <-done:
				return
			}
		}
	})
	return part{name, func(context.Context) error {
		close(done)
		running.Wait()
		return nil
	}}
}
