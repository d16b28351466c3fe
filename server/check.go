package main

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"darboux/loop"
)

// check tells what a start with these settings would warn of and fail at, as far as that
// can be known without one, and returns the exit code that the start would have.
func check(o *Options, log *slog.Logger) int {
	for _, w := range o.warnings() {
		w.log(log)
	}
	obstacles := o.obstacles(context.Background())
	for _, err := range obstacles {
		log.Error("could not start", "error", err)
	}
	if len(obstacles) > 0 {
		return exitFailed
	}
	return exitOK
}

// A warning is a log line about settings that may not do here what they should.
type warning struct {
	text   string
	fields []any
}

func (w warning) log(log *slog.Logger) { log.Warn(w.text, w.fields...) }

func (o *Options) warnings() []warning {
	return slices.Concat(o.memoryWarnings(), o.filesWarnings(), o.doorWarnings())
}

// fewConns is less than what any server should have room for.
const fewConns = 64

// filesWarnings tells if the limit of open files leaves less room than is asked for, or
// hardly any.
func (o *Options) filesWarnings() []warning {
	room := o.Machine.files - sparedFiles
	if o.MaxConns < room || o.MaxConns == room && o.MaxConns >= fewConns {
		return nil
	}
	return []warning{{"the limit of open files is too low for the connections", []any{"flag", "--max-conns", "max_conns", o.MaxConns,
		"open_files", o.Machine.files, "cure", fmt.Sprintf("ulimit -n %d, or more", max(o.MaxConns, fewConns)+sparedFiles)}}}
}

// lookUpTime bounds how long --check waits for a host's address.
const lookUpTime = 5 * time.Second

// obstacles are what would keep a server with these settings from starting on this machine.
func (o *Options) obstacles(ctx context.Context) []error {
	var errs []error
	if o.Snapshot != "" {
		if err := checkFolder(o.Snapshot); err != nil {
			errs = append(errs, fmt.Errorf("--snapshot: %w", err))
		}
	}
	for _, l := range o.listeners() {
		ctx, cancel := context.WithTimeout(ctx, lookUpTime)
		err := loop.LookUp(ctx, l.address)
		cancel()
		if err != nil {
			errs = append(errs, fmt.Errorf("%s %s: %w", l.flag, l.address, err))
		}
	}
	return errs
}

// A listener is an address that is to be served.
type listener struct{ flag, network, address string }

// listeners are all of them, those of --graphite once for each network.
func (o *Options) listeners() []listener {
	var all []listener
	for _, l := range []struct {
		flag, network string
		addresses     []string
	}{
		{"--tcp", "tcp", o.TCP}, {"--udp", "udp", o.UDP}, {"--graphite", "tcp", o.Graphite}, {"--graphite", "udp", o.Graphite},
		{"--opentsdb", "tcp", o.OpenTSDB}, {"--http", "tcp", o.HTTP},
	} {
		for _, address := range l.addresses {
			all = append(all, listener{l.flag, l.network, address})
		}
	}
	return all
}
