package main

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"time"

	"darboux/frame"
	"darboux/handlers"
	"darboux/handlers/index"
	"darboux/handlers/query"
	"darboux/handlers/querylog"
	"darboux/handlers/web"
	"darboux/loop"
)

// The cache of compiled queries; a dashboard has some dozens.
const (
	cachedQueries    = 1024    // entries
	cachedQueryBytes = 4 * mib // of their texts and compiled forms
)

// server is the daemon's parts, wired together. It is started once and ended once,
// by the goroutine that made it.
type server struct {
	o      *Options
	log    *slog.Logger
	lines  *logQueue // what the log goes through; nil: nothing
	report *Reporter

	store     *index.Index
	snapshots *snapshots // nil: there are none
	queries   *query.Cache
	queryLog  *querylog.Log
	riemann   *handlers.Riemann

	graphite, opentsdb *handlers.Lines

	web   *web.HTTP
	api   *web.API
	ready readiness

	group *loop.Group
	pool  *handlers.Pool // nil: bursts are worked on the loops

	parts parts
}

// newServer makes what needs no descriptor and no goroutine.
func newServer(o *Options, log *slog.Logger) *server {
	s := &server{o: o, log: log, report: NewReporter(log, time.Now)}
	s.store = s.newIndex()
	s.queries = query.NewCache(cachedQueries, cachedQueryBytes)
	s.queryLog = &querylog.Log{Trace: traceTo(log)}
	s.riemann = &handlers.Riemann{
		Store:    s.store,
		Queries:  s.queries,
		MaxFrame: limit("--max-frame", o.MaxFrame),
		MaxReply: limit("--max-reply", o.MaxReply),
		MaxEvent: limit("--max-event", o.MaxEvent),
		Now:      handlers.Micros,
		Elapsed:  handlers.SinceStart,
		Report:   s.report.Report,
		QueryLog: s.queryLog,
	}
	s.newLines()
	s.newWeb()
	return s
}

// limit is a setting in the form in which it is named in errors.
func limit[N int | int64](flag string, value N) frame.Limit {
	return frame.Limit{Flag: flag, Value: int(value)}
}

// start starts the parts, in the order of s.parts. After an error the process is to
// end: what was started is not stopped. It returns early, with an error, with ctx.
func (s *server) start(ctx context.Context) error {
	s.logSettings()
	if err := s.startIndex(ctx); err != nil {
		return err
	}
	if err := s.startTraces(); err != nil {
		return err
	}
	if err := s.startLoops(); err != nil {
		return err
	}
	s.startReaper()
	return s.startSelfEvents()
}

func (s *server) logSettings() {
	o := s.o
	s.log.Info("starting", "version", version(), "pid", os.Getpid(),
		"loops", o.Loops, "handlers", o.Handlers, "ring_slots", o.RingSlots,
		"max_conns", o.MaxConns, "memory", byteSize(o.Memory), "conn_memory", byteSize(o.ConnMemory),
		"max_frame", byteSize(o.MaxFrame), "max_event", byteSize(o.MaxEvent),
		"max_reply", byteSize(o.MaxReply), "stream_memory", byteSize(o.StreamMemory),
		"index_memory", byteSize(o.IndexMemory), "index_entries", o.IndexEntries)
	s.logMemory()
	for _, w := range o.warnings() {
		w.log(s.log)
	}
}

// startLoops starts loops and handlers and opens the listeners. At the end the
// connections go first, while handlers work; the handlers next, while the loops'
// bells may still be rung; the loops' descriptors last.
func (s *server) startLoops() error {
	ways := s.ways()
	var protocols []*frame.Protocol
	for _, w := range ways {
		protocols = append(protocols, w.protocol)
	}
	var ring *frame.Ring[*frame.Burst]
	if s.o.Handlers > 0 {
		ring = frame.NewRing[*frame.Burst](s.o.RingSlots)
	}
	group, err := loop.New(s.loopConfig(ring, protocols))
	if err != nil {
		return err
	}
	s.group = group
	s.parts = append(s.parts, part{"loops", func(context.Context) error { return group.Close() }})
	if ring != nil {
		s.pool = handlers.NewPool(s.o.Handlers, ring, protocols)
		s.parts = append(s.parts, part{"handlers", func(context.Context) error { s.pool.Close(); return nil }})
	}
	for kind, w := range ways {
		if err := s.listen(w, kind); err != nil {
			return err
		}
	}
	s.startWeb()
	group.Start()
	s.parts = append(s.parts, part{"connections", s.drain})
	return nil
}

func (s *server) loopConfig(ring *frame.Ring[*frame.Burst], protocols []*frame.Protocol) loop.Config {
	o := s.o
	return loop.Config{
		Loops:              o.Loops,
		Ring:               ring,
		Protocols:          protocols,
		ConnMemory:         limit("--conn-memory", o.ConnMemory),
		Memory:             limit("--memory", o.Memory),
		FrameTimeout:       o.FrameTimeout,
		WriteTimeout:       o.WriteTimeout,
		MaxConns:           limit("--max-conns", o.MaxConns),
		MaxConnsPerAddress: limit("--max-conns-per-address", o.MaxConnsPerAddress),
		SocketBuffer:       max(0, int(o.SocketBuffer)), // auto is the kernel's choice
		Report:             s.report.Report,
	}
}

// drain answers what was received and closes the connections; those that are left at
// the deadline are closed at once.
func (s *server) drain(ctx context.Context) error {
	err := s.group.Drain(ctx)
	s.group.Stop()
	if err != nil {
		return fmt.Errorf("--drain-timeout %v is over, and connections were closed with requests unanswered: %w", s.o.DrainTimeout, err)
	}
	return nil
}

func (s *server) startReaper() {
	s.parts = append(s.parts, periodic("reaper", s.o.ExpireEvery, func(now time.Time) { s.store.Expire(now.UnixMicro()) }))
}

func (s *server) startSelfEvents() error {
	if s.o.SelfEvents == 0 {
		return nil
	}
	host, err := os.Hostname()
	if err != nil {
		return fmt.Errorf("--self-events %v: the host's name is their host: %w", s.o.SelfEvents, err)
	}
	events := newSelfEvents(host, s.o.SelfEvents, s.metrics, s.store)
	s.parts = append(s.parts, periodic("self events", s.o.SelfEvents, events.round))
	return nil
}
