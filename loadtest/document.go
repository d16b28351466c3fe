package main

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"time"

	"darboux/loadtest/measure"
	"darboux/loadtest/proc"
	"darboux/loadtest/report"
	"darboux/loadtest/result"
	"darboux/loadtest/run"
	"darboux/loadtest/workload"
)

// document makes the result of what the run found.
func (s *session) document(out *run.Outcome) *measured {
	ok := out.Total.OK()
	d := &result.Document{
		Schema: result.Schema, Label: s.o.label, Command: commandLine(), Started: out.Started,
		Client: build(), Machine: proc.Machine(), Server: s.describeServer(), Settings: s.settings(),
		Ledger: out.Total.All, Measured: out.Total.Measured, Connects: out.Connects, Pacing: out.Pacing,
		Spectrum: ok.Spectrum(), Series: out.Series, Outstanding: out.Outstanding, Side: out.Side,
		Promises: []result.Promise{}, Errors: out.Errors, Warnings: []string{},
	}
	d.Latency = latency(&out.Total, ok, s.load)
	d.Rates = s.rates(out)
	d.ClientCost = s.clientCost(&d.Rates)
	d.ClientCost.StallMax = out.Stall
	d.ServerCost = s.serverCost(&d.Rates)
	d.Warnings = warnings(d, out)
	return &measured{d, ok}
}

func latency(t *measure.Total, ok *measure.Histogram, load *workload.Workload) result.Latency {
	l := result.Latency{OK: ok.Quantiles(), Failed: t.Failed.Quantiles()}
	if t.Actual != nil {
		l.Actual = t.Actual.Quantiles()
	}
	events, queries := t.Kinds[workload.Events].Quantiles(), t.Kinds[workload.Asks].Quantiles()
	if events != nil && queries != nil {
		l.Events, l.Queries = events, queries
	}
	return l
}

func (s *session) rates(out *run.Outcome) result.Rates {
	window := float64(out.Window.To-out.Window.From) / 1e9
	a := &out.Total.Arrived
	r := result.Rates{
		Events: measure.Per(a.Events, window), Msgs: measure.Per(a.Msgs, window),
		BytesOut: measure.Per(a.BytesOut, window), BytesIn: measure.Per(a.BytesIn, window), WindowS: window,
	}
	if out.Pacing != nil {
		r.RequestedEvents = s.o.rate
		r.Achieved = measure.Ratio(float64(a.Msgs), float64(out.Pacing.Due))
	}
	return r
}

func (s *session) clientCost(r *result.Rates) result.ClientCost {
	spent := s.cost.end.self.Since(s.cost.begin.self)
	took := s.cost.end.at.Sub(s.cost.begin.at).Seconds()
	msgs := r.Msgs * r.WindowS
	c := result.ClientCost{
		CPUSeconds: spent.CPU.Seconds(), PerMsg: measure.Ratio(float64(spent.CPU), msgs),
		MachineBusy: s.cost.end.busy.Share(s.cost.begin.busy), GCs: spent.GCs, GCPauseMax: int64(spent.GCPauseMax),
		SchedLagP99: int64(spent.SchedLagP99), SchedLagMax: int64(spent.SchedLagMax),
		Allocs: measure.Ratio(float64(spent.Allocs), msgs), PeakRSS: spent.PeakResident, Procs: runtime.GOMAXPROCS(0),
	}
	if took > 0 {
		c.Cores = c.CPUSeconds / took
	}
	return c
}

func (s *session) serverCost(r *result.Rates) *result.ServerCost {
	if !s.cost.known {
		return nil
	}
	cpu := (s.cost.end.server.CPU - s.cost.begin.server.CPU).Seconds()
	c := &result.ServerCost{
		CPUSeconds: cpu, RSS: s.cost.end.server.RSS, PeakRSS: s.cost.end.server.Peak,
		PerMEvents: measure.Ratio(cpu, r.Events*r.WindowS/1e6), PerMMsgs: measure.Ratio(cpu, r.Msgs*r.WindowS/1e6),
	}
	if took := s.cost.end.at.Sub(s.cost.begin.at).Seconds(); took > 0 {
		c.Cores = cpu / took
	}
	return c
}

func (s *session) describeServer() result.Server {
	d := result.Server{Address: s.address, PID: s.pid()}
	if s.server != nil {
		d.Command = s.server.Command
	}
	return d
}

func (s *session) settings() result.Settings {
	o, c := s.o, &s.o.load
	set := result.Settings{
		Scenario: o.scenario, Loop: "closed", Connections: o.connections, Batch: c.Batch,
		DurationS: o.duration.Seconds(), WarmupS: o.warmup.Seconds(), TimeoutS: o.timeout.Seconds(),
		Count: int64(o.count), PerConn: o.perConn, HalfClose: o.halfClose, Seed: c.Seed,
		Hosts: c.Hosts, Services: c.Services, Zipf: c.Zipf, EventBytes: s.load.EventBytes(), MsgBytes: s.load.MsgBytes(),
		Tags: c.Tags, Attributes: c.Attributes, TTLS: c.TTL.Seconds(), Metric: c.Metric, Times: c.Times,
		QueryShare: c.QueryShare, Queries: c.Queries, SideKind: o.side, SideConns: o.sideConns,
	}
	if o.rate > 0 {
		set.Loop, set.Rate, set.Arrivals, set.Outstanding = "open", o.rate, o.arrivals, o.outstanding
	} else {
		set.Pipeline = o.pipeline
	}
	if o.fill {
		set.Filled = s.load.Keys()
	}
	return set
}

// commandLine is the program's, without the folder that it lies in.
func commandLine() []string {
	return append([]string{filepath.Base(os.Args[0])}, os.Args[1:]...)
}

// builtFrom is the commit, set by the Makefile (-ldflags), for where the Go command can't tell.
var builtFrom string

// build identifies this program by what the toolchain wrote into it.
func build() result.Build {
	b := result.Build{Version: "unknown", Go: runtime.Version()}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return b
	}
	b.Version = info.Main.Version
	for _, s := range info.Settings {
		switch {
		case s.Key == "vcs.revision":
			b.Commit = s.Value + b.Commit
		case s.Key == "vcs.modified" && s.Value == "true":
			b.Commit += "+changes"
		}
	}
	if b.Commit == "" {
		b.Commit = builtFrom
	}
	return b
}

// What makes the client itself suspect.
const (
	nearlyAll    = 0.9                   // of its cores
	lagTooLong   = 10 * time.Millisecond // p99 that a runnable goroutine waits
	stallTooLong = 50 * time.Millisecond // once
	tooManyLate  = 0.01                  // of the sends
	machineFull  = 0.95                  // of all cores
	mostByClient = 0.5                   // of the CPU that a full machine spends
)

// warnings tells why the figures may not be the server's.
func warnings(d *result.Document, out *run.Outcome) []string {
	list := []string{}
	add := func(format string, args ...any) { list = append(list, fmt.Sprintf(format, args...)) }
	c := &d.ClientCost
	full := c.MachineBusy > machineFull && c.Cores > mostByClient*c.MachineBusy*float64(d.Machine.Cores)
	switch {
	case c.Cores > nearlyAll*float64(c.Procs) || full:
		c.Bottleneck = true
		add("the client used %.2f of %d cores (machine %.0f %% busy): it is the bottleneck, and the figures are its own more than the server's", c.Cores, d.Machine.Cores, 100*c.MachineBusy)
	case c.MachineBusy > machineFull:
		add("the machine was %.0f %% busy: client and server compete for its cores, so latencies include waiting for them", 100*c.MachineBusy)
	}
	if c.SchedLagP99 > int64(lagTooLong) {
		c.Bottleneck = true
		add("the client's own goroutines waited %s (p99) for a core: latencies include that", report.Duration(c.SchedLagP99))
	}
	if stall := max(c.StallMax, c.GCPauseMax); stall > int64(stallTooLong) {
		add("the client itself stood still for %s: the slowest latencies may be its own", report.Duration(stall))
	}
	if p := d.Pacing; p != nil && float64(p.Late) > tooManyLate*float64(p.Due) {
		add("%d of %d requests were sent more than %s late or never: the server, --outstanding or the client held them back", p.Late, p.Due, report.Duration(p.LateAfter))
	}
	if q := d.Latency.OK; q != nil && q.Count < 100 {
		add("only %d replies were measured: the upper percentiles are single requests", q.Count)
	}
	if out.Connects.Unasked > 0 {
		add("%d replies came to no request: the server breaks the protocol", out.Connects.Unasked)
	}
	return list
}
