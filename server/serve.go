package main

import (
	"context"
	"log/slog"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"darboux/frame"
)

// signalExit is added to the number of the signal that ended the process at once.
const signalExit = 128

// serve runs the daemon from its start to its end and returns the exit code.
func serve(o *Options, log *slog.Logger) int {
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, syscall.SIGTERM, syscall.SIGINT)
	wanted := make(chan os.Signal, 1)
	signal.Notify(wanted, syscall.SIGUSR1)
	starting, started := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	o.limitGarbage()
	s := newServer(o, log)
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
			go endAtOnce(signals, log)
			return s.end()
		}
	}
}

// endAtOnce ends the process at the second signal, whatever the drain waits for.
func endAtOnce(signals <-chan os.Signal, log *slog.Logger) {
	second := <-signals
	log.Warn("ending at once", "signal", second.String())
	code := exitFailed
	if number, ok := second.(syscall.Signal); ok {
		code = signalExit + int(number)
	}
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

// writeLedger writes the last line: what the loops counted, and what must be zero.
func (s *server) writeLedger() bool {
	l := s.group.Ledger()
	fields := []any{"credits_out", l.CreditsOut, "reserved_bytes", l.Reserved}
	for _, stat := range s.group.Stats() {
		fields = append(fields, ledgerKey(stat), stat.Value)
	}
	if !l.Balanced() {
		s.log.Error("ledger", append(fields, "error", "BUG: something is still owed at the end")...)
		return false
	}
	s.log.Info("ledger", fields...)
	return true
}

var ledgerKeys = strings.NewReplacer(": ", "_", " ", "_")

func ledgerKey(s frame.Stat) string { return ledgerKeys.Replace(s.Name) }
