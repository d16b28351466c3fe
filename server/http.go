package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync/atomic"

	"darboux/frame"
	"darboux/handlers"
	"darboux/handlers/web"
	"darboux/loop"
)

// readiness says why the server is not ready.
type readiness struct{ why atomic.Pointer[string] }

// set notes why not; "" is ready.
func (r *readiness) set(why string) { r.why.Store(&why) }

func (r *readiness) check() error {
	if why := r.why.Load(); why != nil && *why != "" {
		return errors.New(*why)
	}
	return nil
}

// newWeb makes the protocol HTTP and its endpoints.
func (s *server) newWeb() {
	o := s.o
	s.ready.set("starting")
	s.api = &web.API{
		Store:     s.store,
		Queries:   s.queries,
		QueryLog:  s.queryLog,
		MaxEvent:  limit("--max-event", o.MaxEvent),
		MaxReply:  limit("--max-frame", o.MaxFrame),
		Access:    web.Access{ReadToken: o.HTTPReadToken, WriteToken: o.HTTPWriteToken, Names: hostNames(), CORS: o.HTTPCORS},
		Now:       handlers.Micros,
		Elapsed:   handlers.SinceStart,
		Report:    s.report.Report,
		Ready:     s.ready.check,
		Pipelines: s.pipelines,
	}
	s.web = &web.HTTP{
		MaxHead:       limit("--http-max-head", o.HTTPMaxHead),
		MaxBody:       limit("--http-max-body", o.HTTPMaxBody),
		IdleTimeout:   o.HTTPIdleTimeout,
		Producers:     limit("--http-producers", o.HTTPProducers),
		LoopProducers: loopProducers(o),
		Handler:       s.api.Handler(),
		Brief:         s.api.Brief,
		Report:        s.report.Report,
	}
	if o.HTTPAccessLog {
		s.web.Observe = web.AccessLog(s.log)
	}
}

// loopProducers is how many body writers may keep bursts of one loop waiting: half of
// those that it may have out, so that requests always find room.
func loopProducers(o *Options) frame.Limit {
	if o.Handlers == 0 {
		return limit("--http-producers", loop.MaxWaiting)
	}
	return limit("--ring-slots", max(1, o.RingSlots/o.Loops/2))
}

// hostNames are the names by which this machine knows itself.
func hostNames() []string {
	name, err := os.Hostname()
	if err != nil {
		return nil // localhost is known anyway
	}
	return []string{strings.ToLower(name)}
}

// startWeb starts what HTTP needs beside the loops: the gathering of numbers, and what
// waits for body writers at the end.
func (s *server) startWeb() {
	s.api.Numbers = web.NewNumbers(s.numbers)
	s.parts = append(s.parts, part{"body writers", func(ctx context.Context) error { return s.waitForWriters(ctx) }})
}

// waitForWriters waits until the writers have noticed that their clients are gone.
func (s *server) waitForWriters(ctx context.Context) error {
	ended := make(chan struct{})
	go func() {
		s.web.Wait()
		close(ended)
	}()
	select {
	case <-ended:
		return nil
	case <-ctx.Done():
		if n := s.web.Producing(); n > 0 {
			return fmt.Errorf("%d body writers go on: %w", n, ctx.Err())
		}
		return nil
	}
}

// numbers are the metrics as /metrics shows them.
func (s *server) numbers() []web.Number {
	var all []web.Number
	for _, m := range s.metrics() {
		all = append(all, web.Number{Name: m.name, Help: m.help, Gauge: m.kind == gauge, Value: m.value})
	}
	return all
}

// pipelines is each listener's path as the start printed it, and where work stands now.
func (s *server) pipelines() string {
	var b strings.Builder
	for _, w := range s.ways() {
		fmt.Fprintf(&b, "%s %s, %s\n  %s\n", w.flag, strings.Join(w.addresses, ","), w.network, strings.ReplaceAll(pathOf(s.o, w), " | ", "\n  "))
	}
	fmt.Fprintf(&b, "now\n")
	for _, m := range s.metrics() {
		if m.kind == gauge {
			fmt.Fprintf(&b, "  %s: %d\n", m.name, m.value)
		}
	}
	return b.String()
}

// doorWarnings tells whoever starts the server that it serves others without a token.
func (o *Options) doorWarnings() []warning {
	if o.HTTPWriteToken != "" && o.HTTPReadToken != "" {
		return nil
	}
	var all []warning
	for _, address := range o.HTTP {
		if !isLoopback(address) {
			all = append(all, warning{"HTTP is served beyond this machine, and not all of it wants a token",
				[]any{"flag", "--http", "addr", address, "cure", "set --http-read-token and --http-write-token"}})
		}
	}
	return all
}
