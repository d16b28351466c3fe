package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"

	"darboux/frame"
	"darboux/loadtest/datagram"
	"darboux/loadtest/proc"
	"darboux/loadtest/report"
	"darboux/loadtest/workload"
)

// checkProto finds options that don't fit datagrams, which have no answers.
func (o *options) checkProto() error {
	switch {
	case o.proto == "tcp":
		return nil
	case o.proto != "udp":
		return usagef("--proto %q: must be tcp or udp", o.proto)
	case o.rate == 0:
		return usagef("--proto udp: needs --rate, because datagrams have no answers that a closed loop could wait for")
	}
	for _, name := range []string{"scenario", "pipeline", "outstanding", "count", "requests-per-connection", "half-close", "fill", "verify",
		"query-share", "side", "stop", "warmup", "expect-p99", "expect-rate", "expect-errors", "hdr", "html"} {
		if o.given[name] {
			return usagef("--%s: does not go with --proto udp, because datagrams have no answers", name)
		}
	}
	return nil
}

// datagramRun is what became of the datagrams of a run. Every one that was sent is
// received, or dropped and counted by the kernel, or unaccounted for.
type datagramRun struct {
	Schema          string   `json:"schema"`
	Label           string   `json:"label"`
	Bytes           int      `json:"datagram_bytes"`
	Requested       float64  `json:"requested_per_s"`
	Rate            float64  `json:"sent_per_s"`
	Seconds         float64  `json:"took_s"`
	Due             int64    `json:"due"`
	Sent            int64    `json:"sent"`
	Received        int64    `json:"received"`
	DroppedBySocket int64    `json:"dropped_by_socket"`
	DroppedByDevice int64    `json:"dropped_by_device"`
	Unaccounted     int64    `json:"unaccounted"`
	ServerCPU       *float64 `json:"server_cpu_ns_per_datagram"` // nil: the process is not known, or received nothing
}

// runDatagrams is runOnce with --proto udp.
func runDatagrams(ctx context.Context, o *options, to streams) (int, error) {
	load, err := workload.New(o.load, o.connections)
	if err != nil {
		return 0, usageError{err}
	}
	s := &session{o: o, load: load}
	if err := s.findServer(ctx); err != nil {
		return 0, err
	}
	if s.server != nil {
		defer s.server.Stop(o.grace)
	}
	d, err := s.measureDatagrams(ctx)
	if err != nil {
		return 0, err
	}
	summary := to.out
	if o.json == "-" {
		summary = to.err
	}
	fmt.Fprintln(summary, d.line())
	if err := writeDatagrams(o.json, d, to.out); err != nil {
		return 0, err
	}
	return d.exit(), nil
}

func writeDatagrams(path string, d *datagramRun, out io.Writer) error {
	write := func(w io.Writer) error {
		e := json.NewEncoder(w)
		e.SetIndent("", "  ")
		return e.Encode(d)
	}
	switch path {
	case "":
		return nil
	case "-":
		return write(out)
	}
	return report.WriteFile(path, write)
}

func (d *datagramRun) exit() int {
	switch {
	case d.Unaccounted != 0 || d.Received == 0:
		return exitBroken
	case float64(d.Sent) < leastAchieved*float64(d.Due):
		return exitRate
	}
	return exitOK
}

// line is the run in a line.
func (d *datagramRun) line() string {
	var b strings.Builder
	if d.Label != "" {
		fmt.Fprintf(&b, "%s: ", d.Label)
	}
	fmt.Fprintf(&b, "%d datagrams of %d bytes sent, %.0f/s of %.0f/s asked; received %d, dropped by the socket %d, by the device %d; unaccounted %d",
		d.Sent, d.Bytes, d.Rate, d.Requested, d.Received, d.DroppedBySocket, d.DroppedByDevice, d.Unaccounted)
	if d.ServerCPU != nil {
		fmt.Fprintf(&b, "; server CPU %.0f ns a datagram received", *d.ServerCPU)
	}
	return b.String()
}

// counts are what became of datagrams, as far as it is known at one moment.
type counts struct{ received, socket, device int64 }

func (c counts) sum() int64 { return c.received + c.socket + c.device }

// settled bounds how long the counts may need to be complete, and glance is how often
// they are looked at.
const (
	settled = 10 * time.Second
	glance  = 50 * time.Millisecond
)

// measureDatagrams sends and then waits until all datagrams are accounted for.
func (s *session) measureDatagrams(ctx context.Context) (*datagramRun, error) {
	before, err := s.counts(ctx)
	if err != nil {
		return nil, err
	}
	cpu, known := s.serverCPU()
	sent, err := datagram.Send(ctx, datagram.Config{
		Address: s.address, Workload: s.load, Sockets: s.o.connections, Schedule: s.o.schedule(), Duration: s.o.duration,
	})
	if err != nil {
		return nil, err
	}
	time.Sleep(glance) // what waits in the socket is worked in that time
	cpuAfter, stillKnown := s.serverCPU()
	after, err := s.awaitCounts(ctx, before.sum()+sent.Datagrams)
	if err != nil {
		return nil, err
	}
	d := &datagramRun{
		Schema: "darboux-load-udp/1", Label: s.o.label, Bytes: s.load.MsgBytes() - frame.HeaderLen, Requested: s.o.rate / float64(s.o.load.Batch),
		Due: sent.Due, Sent: sent.Datagrams, Seconds: sent.Took.Seconds(), Rate: float64(sent.Datagrams) / sent.Took.Seconds(),
		Received: after.received - before.received, DroppedBySocket: after.socket - before.socket, DroppedByDevice: after.device - before.device,
	}
	d.Unaccounted = d.Sent - d.Received - d.DroppedBySocket - d.DroppedByDevice
	if known && stillKnown && d.Received > 0 {
		each := float64(cpuAfter-cpu) / float64(d.Received)
		d.ServerCPU = &each
	}
	return d, nil
}

func (s *session) serverCPU() (time.Duration, bool) {
	if s.pid() == 0 {
		return 0, false
	}
	usage, err := proc.Of(s.pid())
	return usage.CPU, err == nil
}

// awaitCounts returns the counts once their sum is what was sent, or does not get there.
func (s *session) awaitCounts(ctx context.Context, sum int64) (counts, error) {
	for end := time.Now().Add(settled); ; time.Sleep(glance) {
		c, err := s.counts(ctx)
		if err != nil || c.sum() == sum || time.Now().After(end) {
			return c, err
		}
	}
}

// counts asks the kernel and the server.
func (s *session) counts(ctx context.Context) (c counts, err error) {
	if c.socket, err = datagram.DroppedBySockets(s.address); err != nil {
		return c, err
	}
	if c.device, err = datagram.DroppedByDevice(); err != nil {
		return c, err
	}
	for end := time.Now().Add(settled); ; time.Sleep(glance) {
		n, known, err := datagram.Count(ctx, s.address, s.o.timeout)
		if c.received = n; err != nil || known {
			return c, err
		}
		if time.Now().After(end) {
			return c, fmt.Errorf("--proto udp: the server at %s has no event with the service %q: a darboux needs --self-events 100ms", s.address, datagram.CountService)
		}
	}
}
