package main

import (
	"os"
	"slices"
	"strings"
	"syscall"
	"time"

	"darboux/loadtest/child"
	"darboux/loadtest/run"
)

// check finds what is wrong with o as a whole, naming value, limit and flag.
func (o *options) check() error {
	for _, d := range []struct {
		flag       string
		value      time.Duration
		least, max time.Duration
	}{
		{"--duration", o.duration, time.Millisecond, run.MaxDuration},
		{"--warmup", o.warmup, 0, run.MaxDuration},
		{"--timeout", o.timeout, leastTimeout, mostTimeout},
		{"--expect-p99", o.expectP99, 0, mostTimeout},
	} {
		if d.value < d.least || d.value > d.max {
			return usagef("%s %s: must be %s to %s", d.flag, d.value, d.least, d.max)
		}
	}
	for _, check := range []func() error{o.checkProto, o.checkLoop, o.checkFiles, o.checkSide, o.checkTarget, o.checkVerify, o.checkOutputs} {
		if err := check(); err != nil {
			return err
		}
	}
	if err := o.load.Check(); err != nil {
		return usageError{err}
	}
	return nil
}

func (o *options) checkLoop() error {
	if o.arrivals != "constant" && o.arrivals != "poisson" {
		return usagef("--arrivals %q: must be constant or poisson", o.arrivals)
	}
	if o.rate == 0 {
		for _, name := range []string{"arrivals", "outstanding"} {
			if o.given[name] {
				return usagef("--%s: is of the open loop, so needs --rate", name)
			}
		}
	} else if o.given["pipeline"] {
		return usagef("--pipeline: is of the closed loop, which --rate excludes; --outstanding bounds the open one")
	}
	if o.halfClose && o.perConn == 0 {
		return usagef("--half-close: needs --requests-per-connection")
	}
	return nil
}

// reservedFiles is how many descriptors this program needs beside connections.
const reservedFiles = 64

func (o *options) checkFiles() error {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		return err
	}
	if need := uint64(o.connections + o.sideConns + reservedFiles); need > limit.Cur {
		return usagef("--connections %d: with %d others that is over the limit of %d open files (ulimit -n)", o.connections, int(need)-o.connections, limit.Cur)
	}
	return nil
}

func (o *options) checkSide() error {
	kinds := []string{run.Flood, run.SlowReader, run.SlowQuery}
	switch {
	case o.side == "":
		return nil
	case !slices.Contains(kinds, o.side):
		return usagef("--side %q: must be one of %s", o.side, strings.Join(kinds, ", "))
	case o.sideConns == 0:
		return usagef("--side %s: needs --side-connections of at least 1", o.side)
	case o.readRate == 0:
		return usagef("--read-rate 0: must be at least 1")
	}
	return nil
}

func (o *options) checkTarget() error {
	if o.stop && o.start == "" && !o.starts {
		return usagef("--stop (scenario %s): needs --start, to have a server that may be stopped", o.scenario)
	}
	if o.start != "" && !strings.Contains(o.start, child.Addr) && !strings.Contains(o.start, child.Port) {
		return usagef("--start %q: must say with {addr} where to listen", o.start)
	}
	return nil
}

func (o *options) checkVerify() error {
	if !o.verify {
		return nil
	}
	if err := o.load.Verifiable(); err != nil {
		return usageError{err}
	}
	if keys := o.load.Hosts * o.load.Services; keys < o.connections {
		return usagef("--verify: needs at least as many keys (--hosts × --services, now %d) as --connections (%d)", keys, o.connections)
	}
	if o.stop {
		return usagef("--verify: a server that was told to stop (--stop) can't be asked")
	}
	if long := o.longest(); o.load.TTL > 0 && o.load.TTL < long {
		return usagef("--ttl %s: with --verify, entries must outlive the run: at least %s (or 0s, if the server's own ttl is longer)", o.load.TTL, long)
	}
	return nil
}

// checkOutputs finds out before a run that its result could not be written after it.
func (o *options) checkOutputs() error {
	for _, f := range []struct{ flag, path string }{{"--json", o.json}, {"--hdr", o.hdr}, {"--html", o.html}} {
		if f.path == "" || f.path == "-" {
			continue
		}
		if err := checkWritable(f.path); err != nil {
			return usagef("%s: %v", f.flag, err)
		}
	}
	return nil
}

// checkWritable opens a file for writing as it is, and leaves nothing behind.
func checkWritable(path string) error {
	_, missing := os.Stat(path)
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE, 0o666)
	if err != nil {
		return err
	}
	if err := f.Close(); err != nil {
		return err
	}
	if missing != nil {
		return os.Remove(path)
	}
	return nil
}
