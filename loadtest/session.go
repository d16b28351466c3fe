package main

import (
	"context"
	"fmt"
	"io"
	"time"

	"darboux/loadtest/child"
	"darboux/loadtest/measure"
	"darboux/loadtest/pace"
	"darboux/loadtest/report"
	"darboux/loadtest/result"
	"darboux/loadtest/run"
	"darboux/loadtest/verify"
	"darboux/loadtest/wire"
	"darboux/loadtest/workload"
)

// session is one run from the start of its server to the result.
type session struct {
	o       *options
	load    *workload.Workload
	book    *workload.Book // nil: not verified
	address string
	server  *child.Server // nil: it runs already
	cost    *costs
	live    *live
	stopAt  time.Time // when the server was told to stop
}

// measured is a run's result, and its histogram for --hdr.
type measured struct {
	*result.Document
	ok *measure.Histogram
}

// measureOnce runs o's load against o's server, which it starts and stops if
// that was asked for. Progress goes to progress.
func measureOnce(ctx context.Context, o *options, progress io.Writer) (*measured, error) {
	load, err := workload.New(o.load, o.connections)
	if err != nil {
		return nil, usageError{err}
	}
	s := &session{o: o, load: load}
	if err := s.findServer(ctx); err != nil {
		return nil, err
	}
	if s.server != nil {
		defer s.server.Stop(o.grace)
	}
	dial := wire.DialTCP(s.address, o.timeout)
	if o.fill {
		if err := run.Fill(ctx, dial, load, o.timeout); err != nil {
			return nil, err
		}
	}
	if o.verify {
		s.book = workload.NewBook(load)
		if o.fill {
			s.book.Filled()
		}
	}
	s.cost = newCosts(s.pid())
	s.live = newLive(progress, o)
	out, err := run.Run(ctx, s.config(dial))
	s.live.end()
	if err != nil {
		return nil, err
	}
	m := s.document(out)
	if o.verify {
		// What was measured until an interrupt is worth verifying, too.
		m.Verify = verify.Index(context.WithoutCancel(ctx), dial, load, s.book, o.timeout)
	}
	s.judgeStop(m.Document, out)
	promises(o, m.Document)
	return m, nil
}

func (s *session) findServer(ctx context.Context) (err error) {
	if s.o.start == "" {
		s.address, err = s.o.loopback()
		return err
	}
	s.server, err = child.Start(ctx, s.o.start)
	if err == nil {
		s.address = s.server.Address
	}
	return err
}

// pid is the server's process, 0 if it is not known.
func (s *session) pid() int {
	if s.server != nil {
		return s.server.PID()
	}
	return s.o.serverPID
}

// config makes the run of the options.
func (s *session) config(dial wire.Dial) run.Config {
	o := s.o
	c := run.Config{
		Dial: dial, Workload: s.load, Book: s.book,
		Connections: o.connections, Pipeline: o.pipeline,
		Warmup: o.warmup, Duration: o.duration, Count: int64(o.count), Timeout: o.timeout,
		PerConn: o.perConn, HalfClose: o.halfClose,
		Sleeper: run.NewTimer, Edge: s.cost.edge,
		Second: func(second *result.Second) {
			s.cost.second(second)
			s.live.second(second)
		},
	}
	if o.rate > 0 {
		c.Open = &run.Open{Schedule: o.schedule(), Outstanding: o.outstanding}
	}
	if o.side != "" {
		c.Side = s.side()
	}
	if o.stop {
		c.Stop = &run.Stop{At: o.warmup + o.duration/2, Signal: func() {
			s.stopAt = time.Now()
			s.server.Terminate()
		}}
	}
	return c
}

// schedule makes the open loop's times. --rate counts events, so a request
// counts for its batch; where only queries are sent, it counts requests.
func (o *options) schedule() func() *pace.Schedule {
	perSecond := o.rate / o.perRequest()
	if o.arrivals == "poisson" {
		return func() *pace.Schedule { return pace.Poisson(perSecond, o.load.Seed) }
	}
	return func() *pace.Schedule { return pace.Constant(perSecond) }
}

// perRequest is what a request counts for in --rate and --expect-rate.
func (o *options) perRequest() float64 {
	if o.load.QueryShare == 1 {
		return 1
	}
	return float64(o.load.Batch)
}

// side makes the ill-behaved connections: a flood mixes events and queries, so
// that both directions fill up.
func (s *session) side() *run.Side {
	side := &run.Side{
		Kind: s.o.side, Connections: s.o.sideConns, ReadRate: s.o.readRate,
		Requests: [][]byte{workload.Query(s.o.sideQuery)},
	}
	if s.o.side == run.Flood {
		event, _ := s.load.AppendAll(nil, 0, 1, time.Now())
		side.Requests = append(side.Requests, event)
	}
	return side
}

// judgeStop tells how a server that was told to stop took it.
func (s *session) judgeStop(d *result.Document, out *run.Outcome) {
	if out.Stopped == nil {
		return
	}
	before, after := &out.Stopped.Ledger, &out.Total.All
	stop := &result.Stop{
		AtS: float64(out.Stopped.At) / 1e9, Connects: out.Connects.Opened - out.Stopped.Opened,
		Accounted: after.Balanced(), After: result.Difference(after, before),
	}
	// A second signal would end it at once, whatever it still has to answer.
	if ended, byItself := s.server.Await(s.o.grace); byItself {
		took := ended.Sub(s.stopAt).Seconds()
		stop.TookS = &took
	}
	stop.Exit = s.server.Exit()
	d.Stop = stop
}

// promises compares what was found with what was expected.
func promises(o *options, d *result.Document) {
	add := func(flag, want, got string, broken bool) {
		d.Promises = append(d.Promises, result.Promise{Flag: flag, Want: want, Got: got, Broken: broken})
	}
	if o.expectP99 > 0 {
		if q := d.Latency.OK; q == nil {
			add("--expect-p99", o.expectP99.String(), "unknown: no reply", true)
		} else {
			add("--expect-p99", o.expectP99.String(), time.Duration(q.P99).String(), q.P99 > int64(o.expectP99))
		}
	}
	if o.expectRate > 0 {
		got := d.Rates.Events
		if o.load.QueryShare == 1 {
			got = d.Rates.Msgs
		}
		add("--expect-rate", report.Rate(o.expectRate), report.Rate(got), got < o.expectRate)
	}
	if o.failsGiven {
		failed := float64(d.Measured.Failed())
		got := measure.Ratio(failed, float64(d.Measured.Sent))
		add("--expect-errors", fmt.Sprint(o.expectFails), shareText(got), got == nil || *got > o.expectFails)
	}
}

func shareText(v *float64) string {
	if v == nil {
		return "unknown: nothing was sent"
	}
	return fmt.Sprint(*v)
}

// exitOf is the run's exit code.
func exitOf(d *result.Document) int {
	for _, p := range d.Promises {
		if p.Broken {
			return exitBroken
		}
	}
	switch {
	case d.Verify != nil && !d.Verify.OK:
		return exitBroken
	case d.Ledger.OK == 0:
		return exitBroken // not one reply: nothing was measured
	case d.Rates.Achieved != nil && *d.Rates.Achieved < leastAchieved:
		return exitRate
	}
	return exitOK
}

// leastAchieved is the share of the requested rate below which the run does not
// show what was asked for.
const leastAchieved = 0.99
