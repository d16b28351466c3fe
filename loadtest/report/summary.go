package report

import (
	"bytes"
	"fmt"
	"io"
	"text/tabwriter"

	"darboux/loadtest/result"
)

// Summary writes a run as text for people.
func Summary(w io.Writer, d *result.Document) error {
	var b bytes.Buffer
	fmt.Fprintf(&b, "\n%s\n\n", Title(d))
	rates(&b, d)
	latencies(&b, d)
	requests(&b, d)
	costs(&b, d)
	extras(&b, d)
	for _, e := range d.Errors {
		fmt.Fprintf(&b, "error × %s: %s: %s\n", Number(e.Count), e.Kind, e.Text)
	}
	for _, p := range d.Promises {
		verdict := "kept"
		if p.Broken {
			verdict = "BROKEN"
		}
		fmt.Fprintf(&b, "%s %s: %s, it was %s\n", p.Flag, p.Want, verdict, p.Got)
	}
	for _, warning := range d.Warnings {
		fmt.Fprintf(&b, "WARNING: %s\n", warning)
	}
	_, err := w.Write(b.Bytes())
	return err
}

// Title says in one line what was run.
func Title(d *result.Document) string {
	s := &d.Settings
	loop := fmt.Sprintf("closed loop, %d outstanding on each of %d connections", s.Pipeline, s.Connections)
	if s.Loop == "open" {
		loop = fmt.Sprintf("open loop, %s events/s (%s) over %d connections", Rate(s.Rate), s.Arrivals, s.Connections)
	}
	load := fmt.Sprintf("%d events a Msg of %s each", s.Batch, Bytes(float64(s.EventBytes)))
	if s.Batch == 1 {
		load = fmt.Sprintf("1 event a Msg, %s", Bytes(float64(s.EventBytes)))
	}
	switch {
	case s.QueryShare == 1:
		load = "queries only"
	case s.QueryShare > 0:
		load += fmt.Sprintf(", %g %% queries", 100*s.QueryShare)
	}
	title := fmt.Sprintf("%s: %s, %s, %.3g s", s.Scenario, loop, load, d.Rates.WindowS)
	if d.Label != "" {
		title = d.Label + " — " + title
	}
	return title
}

func table(b *bytes.Buffer, rows func(t io.Writer)) {
	t := tabwriter.NewWriter(b, 0, 0, 2, ' ', tabwriter.AlignRight)
	rows(t)
	t.Flush() // a bytes.Buffer takes everything
	b.WriteByte('\n')
}

func rates(b *bytes.Buffer, d *result.Document) {
	r := &d.Rates
	table(b, func(t io.Writer) {
		fmt.Fprintf(t, "rates\tevents/s\tMsgs/s\tsent/s\treceived/s\t\n")
		fmt.Fprintf(t, "achieved\t%s\t%s\t%s\t%s\t\n", Rate(r.Events), Rate(r.Msgs), Bytes(r.BytesOut), Bytes(r.BytesIn))
		if r.Achieved != nil {
			fmt.Fprintf(t, "of %s requested\t%.2f %%\t\t\t\t\n", Rate(r.RequestedEvents), 100**r.Achieved)
		}
	})
}

func latencies(b *bytes.Buffer, d *result.Document) {
	l := &d.Latency
	name := "ok"
	if l.Actual != nil {
		name = "ok, intended start"
	}
	table(b, func(t io.Writer) {
		fmt.Fprintf(t, "latency\tp50\tp75\tp90\tp95\tp99\tp99.9\tp99.99\tmax\t\n")
		for _, row := range []struct {
			name string
			q    *result.Quantiles
		}{
			{name, l.OK}, {"ok, actual start", l.Actual}, {"events", l.Events}, {"queries", l.Queries}, {"failed", l.Failed},
		} {
			if q := row.q; q != nil {
				fmt.Fprintf(t, "%s", row.name)
				for _, ns := range []int64{q.P50, q.P75, q.P90, q.P95, q.P99, q.P999, q.P9999, q.Max} {
					fmt.Fprintf(t, "\t%s", Duration(ns))
				}
				fmt.Fprintf(t, "\t\n")
			}
		}
		if l.OK == nil {
			fmt.Fprintf(t, "no reply\t\n")
		}
	})
}

func requests(b *bytes.Buffer, d *result.Document) {
	table(b, func(t io.Writer) {
		fmt.Fprintf(t, "requests\tsent\tok\tok=false\tmalformed\ttimeout\treset\tmissing\t\n")
		for _, row := range []struct {
			name string
			l    *result.Ledger
		}{{"measured", &d.Measured}, {"with warm-up", &d.Ledger}} {
			l := row.l
			fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t\n", row.name, Number(l.Sent), Number(l.OK), Number(l.Rejected),
				Number(l.Malformed), Number(l.Timeout), Number(l.Reset), Number(l.Missing))
		}
	})
	c := &d.Connects
	fmt.Fprintf(b, "connections: %s opened, %s ended by the server, %s by the client, %s connect errors",
		Number(c.Opened), Number(c.EndedByServer), Number(c.EndedByClient), Number(c.ConnectErrors))
	if c.Unasked > 0 {
		fmt.Fprintf(b, ", %s REPLIES TO NO REQUEST", Number(c.Unasked))
	}
	b.WriteByte('\n')
	if p := d.Pacing; p != nil {
		fmt.Fprintf(b, "pacing: %s due, %s late (over %s, at most %s) with %s never sent, backlog at most %s, in flight at most %s\n",
			Number(p.Due), Number(p.Late), Duration(p.LateAfter), Duration(p.LatestNs), Number(p.Unsent), Number(p.MaxBacklog), Number(p.MaxFlight))
	}
}

func costs(b *bytes.Buffer, d *result.Document) {
	c := &d.ClientCost
	fmt.Fprintf(b, "client: %.2f cores, %s ns a Msg, %d collections (pause at most %s), scheduling lag p99 %s, max %s, stood still %s at most; machine %.0f %% busy\n",
		c.Cores, maybe(c.PerMsg, "%.0f"), c.GCs, Duration(c.GCPauseMax), Duration(c.SchedLagP99), Duration(c.SchedLagMax), Duration(c.StallMax), 100*c.MachineBusy)
	if s := d.ServerCost; s != nil {
		fmt.Fprintf(b, "server: %.2f cores, %s CPU s per million events, %s per million Msgs, %s resident, %s at most\n",
			s.Cores, maybe(s.PerMEvents, "%.3g"), maybe(s.PerMMsgs, "%.3g"), Bytes(float64(s.RSS)), Bytes(float64(s.PeakRSS)))
	}
}

func extras(b *bytes.Buffer, d *result.Document) {
	if s := d.Side; s != nil {
		fmt.Fprintf(b, "%s × %d: %s requests (%s), %s replies (%s), ended by the server %s times\n",
			s.Kind, s.Connections, Number(s.Requests), Bytes(float64(s.BytesOut)), Number(s.Replies), Bytes(float64(s.BytesIn)), Number(s.EndedByServer))
	}
	if s := d.Stop; s != nil {
		took := "it did not end in time"
		if s.TookS != nil {
			took = fmt.Sprintf("it ended after %.3g s (%s)", *s.TookS, s.Exit)
		}
		fmt.Fprintf(b, "told to stop at %.3g s: %s; afterwards %s requests were answered, %s reset, %s timed out; each is accounted for: %v\n",
			s.AtS, took, Number(s.After.OK), Number(s.After.Reset), Number(s.After.Timeout), s.Accounted)
	}
	if v := d.Verify; v != nil {
		verdict := "passed"
		if !v.OK {
			verdict = "FAILED"
		}
		fmt.Fprintf(b, "verify %s: %s entries acknowledged, %s right, %s absent, %s wrong; %s never sent by this run\n",
			verdict, Number(v.Keys), Number(v.Right), Number(v.Absent), Number(v.Wrong), Number(v.Unknown))
		if v.Error != "" {
			fmt.Fprintf(b, "  %s\n", v.Error)
		}
		for _, s := range v.Samples {
			fmt.Fprintf(b, "  %s\n", s)
		}
	}
}
