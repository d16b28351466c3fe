package main

import (
	"context"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"syscall"
	"time"
)

// signalExit is added to the number of the signal that ended the process at once.
const signalExit = 128

// serve runs the daemon from its start to its end, with its log at stderr, and returns the
// exit code.
func serve(o *Options, stderr io.Writer) int {
	signal.Ignore(syscall.SIGPIPE) // a log that nobody reads any more must not end the server
	log, lines := startLog(stderr, o)
	defer lines.end(logFlush)
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, endSignals()...)
	wanted := make(chan os.Signal, 1)
	signal.Notify(wanted, syscall.SIGUSR1)
	starting, started := signal.NotifyContext(context.Background(), endSignals()...)
	o.limitGarbage()
	s := newServer(o, log)
	s.lines = lines
	err := s.start(starting)
	started()
	if err != nil {
		log.Error("could not start", "error", err)
		return exitFailed
	}
	s.ready.set("")
	log.Info("ready")

	for {
		select {
		case sig := <-wanted:
			s.snapshotNow(sig.String())
		case first := <-signals:
			log.Info("draining", "signal", first.String(), "timeout", o.DrainTimeout)
			go endAtOnce(signals, log, lines)
			return s.end()
		}
	}
}

// endSignals are the signals that ask for the end. SIGHUP, that of a terminal that is
// closed, is one unless the process was started to outlive its terminal (nohup).
func endSignals() []os.Signal {
	all := []os.Signal{syscall.SIGTERM, syscall.SIGINT}
	if !signal.Ignored(syscall.SIGHUP) {
		all = append(all, syscall.SIGHUP)
	}
	return all
}

// sameRequest is how long after the first signal others are taken for the same request.
// timeout(1) signals its child and then the child's group, a shell and its terminal may
// each send one: none of them means to cut the drain short. Who does, waits longer.
const sameRequest = time.Second

// secondSignal waits for a signal that is a request of its own. It is called right after
// the first one.
func secondSignal(signals <-chan os.Signal) os.Signal {
	first := time.Now()
	for {
		if sig := <-signals; time.Since(first) >= sameRequest {
			return sig
		}
	}
}

// endAtOnce ends the process at the second signal, whatever the drain waits for.
func endAtOnce(signals <-chan os.Signal, log *slog.Logger, lines *logQueue) {
	second := secondSignal(signals)
	log.Warn("ending at once", "signal", second.String())
	code := exitFailed
	if number, ok := second.(syscall.Signal); ok {
		code = signalExit + int(number)
	}
	lines.end(logFlush)
	os.Exit(code)
}

// end stops everything within the drain timeout, writes the ledger and returns the
// exit code.
func (s *server) end() int {
	ctx, cancel := context.WithTimeout(context.Background(), s.o.DrainTimeout)
	defer cancel()
	s.ready.set("draining")
	err := s.parts.stop(ctx, s.log)
	s.report.Flush()
	balanced := s.writeLedger()
	if err != nil || !balanced {
		return exitFailed
	}
	return exitOK
}
