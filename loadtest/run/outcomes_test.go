package run

import (
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"darboux/loadtest/result"
	"darboux/loadtest/stub"
	"darboux/loadtest/workload"
)

var (
	refusal   = append([]byte{0, 0, 0, 9, 0x10, 0, 0x1a, 5}, "wrong"...)
	malformed = []byte{0, 0, 0, 0}
)

// nth answers the n-th request of a connection in its own way and all others at
// once.
func nth(n int, a stub.Answer) *stub.Server {
	return &stub.Server{Serve: func(r stub.Request) stub.Answer {
		if r.Number == n {
			return a
		}
		return stub.Answer{After: ms, Reply: stub.Ack}
	}}
}

// Each way in which a request can end is told apart, and nothing is lost.
func TestEachRequestHasItsOutcome(t *testing.T) {
	for name, test := range map[string]struct {
		server *stub.Server
		want   result.Ledger // of 100 requests, 10 outstanding; zero fields are not sent, bytes or events
		texts  string        // of the errors
	}{
		"all is well":       {nth(-1, stub.Answer{}), result.Ledger{OK: 100}, ""},
		"rejected":          {nth(50, stub.Answer{Reply: refusal}), result.Ledger{OK: 99, Rejected: 1}, "rejected: wrong"},
		"malformed":         {nth(50, stub.Answer{Reply: malformed}), result.Ledger{OK: 99, Malformed: 1}, "malformed: "},
		"no answer":         {nth(50, stub.Answer{After: 5 * time.Second}), result.Ledger{}, ""},
		"the server closes": {nth(50, stub.Answer{After: ms, Close: true}), result.Ledger{OK: 90, Reset: 10}, "ended by the server: EOF"},
		"closes in a reply": {nth(50, stub.Answer{Reply: stub.Ack[:3], Close: true}), result.Ledger{OK: 90, Reset: 10}, "ended by the server: EOF"},
		"two answers": {
			nth(99, stub.Answer{Reply: append(stub.Ack, stub.Ack...)}), result.Ledger{OK: 100}, "",
		},
	} {
		synctest.Test(t, func(t *testing.T) {
			c := closed(t, test.server, 1, 10)
			c.Count, c.Timeout = 100, 2*time.Second
			out := mustRun(t, c)
			got := out.Total.All
			if name == "no answer" {
				// Request 50 is overdue; those behind it are too, or younger.
				if got.OK != 90 || got.Timeout < 1 || got.Timeout+got.Missing != 10 {
					t.Errorf("%s: %+v", name, got)
				}
				return
			}
			test.want.Sent, test.want.Events, test.want.EventsOK = 100, 100, test.want.OK
			got.BytesIn, got.BytesOut = 0, 0
			if got != test.want {
				t.Errorf("%s: %+v, want %+v", name, got, test.want)
			}
			if texts := joined(out.Errors); !strings.HasPrefix(texts, test.texts) || (texts == "") != (test.texts == "") {
				t.Errorf("%s: errors %q, want %q", name, texts, test.texts)
			}
			if unasked := out.Connects.Unasked; (name == "two answers") != (unasked == 1) {
				t.Errorf("%s: %d replies to no request", name, unasked)
			}
		})
	}
}

func joined(errors []result.ErrorText) string {
	var all []string
	for _, e := range errors {
		all = append(all, e.Kind+": "+e.Text)
	}
	return strings.Join(all, "; ")
}

// The failed ones have latencies of their own.
func TestErrorsAreNoSuccesses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &stub.Server{Serve: func(r stub.Request) stub.Answer {
			if r.Number%10 == 9 {
				return stub.Answer{After: 500 * ms, Reply: refusal}
			}
			return stub.Answer{After: ms, Reply: stub.Ack}
		}}
		c := closed(t, s, 1, 1)
		c.Count = 100
		out := mustRun(t, c)
		ok, failed := out.Total.OK().Quantiles(), out.Total.Failed.Quantiles()
		if ok.Count != 90 || !within(ok.Max, ms) || failed.Count != 10 || !within(failed.Min, 500*ms) {
			t.Errorf("ok %+v, failed %+v", ok, failed)
		}
	})
}

// A server that does not listen yet is tried again, more and more slowly.
func TestConnectErrorsAreCountedApart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := ackAfter(ms)
		s.Refuse = func(n int) error {
			if n < 5 {
				return errors.New("connection refused")
			}
			return nil
		}
		c := closed(t, s, 1, 1)
		c.Count = 10
		out := mustRun(t, c)
		if k := out.Connects; k.ConnectErrors != 5 || k.Opened != 1 || out.Total.All.OK != 10 {
			t.Errorf("%+v, %+v", k, out.Total.All)
		}
		if e := out.Errors; len(e) != 1 || e[0] != (result.ErrorText{Kind: "connect", Text: "connection refused", Count: 5}) {
			t.Errorf("%+v", e)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		s := ackAfter(ms)
		s.Refuse = func(int) error { return errors.New("connection refused") }
		c := open(t, s, 3, 100, 0)
		c.Duration = 5 * time.Second
		out := mustRun(t, c)
		if p := out.Pacing; out.Total.All.Sent != 0 || p.Unsent != 500 || p.MaxBacklog != 500 {
			t.Errorf("nobody listens: %+v, %+v", out.Total.All, p)
		}
		if n := out.Connects.ConnectErrors; n < 15 || n > 60 {
			t.Errorf("%d attempts of 3 connections in 5 s", n)
		}
	})
}

// A server that closes each connection at once is not hammered.
func TestAUselessConnectionIsNoReasonToHurry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := nth(0, stub.Answer{Close: true})
		c := closed(t, s, 1, 1)
		out := mustRun(t, c)
		if out.Connects.Opened > 20 || out.Total.All.Reset != out.Connects.EndedByServer {
			t.Errorf("%+v, %+v", out.Connects, out.Total.All)
		}
	})
}

func TestChurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := closed(t, ackAfter(ms), 2, 4)
		c.PerConn, c.Count = 10, 1000
		out := mustRun(t, c)
		if k := out.Connects; k.Opened != 100 || k.EndedByClient != 100 || k.EndedByServer != 0 {
			t.Errorf("%+v", k)
		}
		if out.Total.All.OK != 1000 {
			t.Errorf("%+v", out.Total.All)
		}
	})
}

// A half-closed connection gets every answer and then the end of the stream.
func TestHalfClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ends := 0
		s := ackAfter(ms)
		s.OnEOF = func(int, <-chan struct{}) { ends++ }
		c := closed(t, s, 1, 25)
		c.PerConn, c.HalfClose, c.Count = 25, true, 250
		out := mustRun(t, c)
		if out.Total.All.OK != 250 || out.Connects.EndedByClient != 10 || ends != 10 || len(out.Errors) != 0 {
			t.Errorf("%+v, %+v, %d ends of stream, %v", out.Total.All, out.Connects, ends, out.Errors)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		s := ackAfter(ms)
		s.OnEOF = func(_ int, closed <-chan struct{}) { <-closed } // no end of stream for the client
		c := closed(t, s, 1, 5)
		c.PerConn, c.HalfClose, c.Count, c.Timeout = 5, true, 5, time.Second
		out := mustRun(t, c)
		if texts := joined(out.Errors); out.Total.All.OK != 5 || texts != "half-close: no end of stream after the last reply" {
			t.Errorf("%+v, errors %q", out.Total.All, texts)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		s := nth(3, stub.Answer{Reply: stub.Ack, Close: true})
		c := closed(t, s, 1, 5)
		c.PerConn, c.HalfClose, c.Count = 5, true, 5
		out := mustRun(t, c)
		if l := out.Total.All; l.OK != 4 || l.Reset != 1 || !strings.Contains(joined(out.Errors), "before the last reply") {
			t.Errorf("%+v, errors %q", l, joined(out.Errors))
		}
	})
}

// A server that is told to stop answers what it has and closes; the client
// opens no further connection and accounts for the rest.
func TestStopUnderLoad(t *testing.T) {
	for name, open := range map[string]*Config{"closed": nil, "open": {}} {
		synctest.Test(t, func(t *testing.T) {
			var stopping atomic.Bool
			s := &stub.Server{Serve: func(stub.Request) stub.Answer {
				return stub.Answer{After: ms, Reply: stub.Ack, Close: stopping.Load()}
			}}
			c := closed(t, s, 4, 8)
			if open != nil {
				c = openLoop(t, s)
			}
			c.Stop = &Stop{At: 2 * time.Second, Signal: func() { stopping.Store(true) }}
			out := mustRun(t, c)
			l := out.Total.All
			if out.Window.To > int64(2100*ms) && open == nil || s.Dials() != 4 || out.Stopped == nil {
				t.Errorf("%s: ended at %v, %d connections", name, time.Duration(out.Window.To), s.Dials())
			}
			if l.Sent != l.OK+l.Reset || open == nil && (l.Reset < 4*7 || l.Reset > 4*8) {
				// A request that follows the last answer may still get out.
				t.Errorf("%s: %+v", name, l)
			}
			if before := out.Stopped.Ledger; before.OK == 0 || before.OK > l.OK {
				t.Errorf("%s: %d answered when told, %d in the end", name, before.OK, l.OK)
			}
		})
	}
}

func openLoop(t *testing.T, s *stub.Server) Config {
	c := open(t, s, 4, 3000, 0)
	c.Duration = 4 * time.Second
	return c
}

func TestSideConnections(t *testing.T) {
	for _, kind := range []string{Flood, SlowReader, SlowQuery} {
		synctest.Test(t, func(t *testing.T) {
			s := ackAfter(ms)
			s.Buffer = 4 << 10
			c := closed(t, s, 2, 2)
			c.Duration = 3 * time.Second
			c.Side = &Side{Kind: kind, Connections: 3, Requests: [][]byte{workload.Query("true")}, ReadRate: 600}
			out := mustRun(t, c)
			if out.Side == nil || out.Side.Requests < 12 || out.Side.BytesOut == 0 || out.Side.EndedByServer != 0 {
				t.Fatalf("%s: %+v", kind, out.Side)
			}
			if replied := out.Side.Replies > 0; replied != (kind != Flood) {
				t.Errorf("%s: %+v", kind, out.Side)
			}
			if l := out.Total.All; l.OK != l.Sent || l.Queries != 0 {
				t.Errorf("%s: the measured connections: %+v", kind, l)
			}
			if kind == SlowReader && out.Side.BytesIn > 3*600*3+6*3 {
				t.Errorf("slow readers read %d bytes in 3 s", out.Side.BytesIn)
			}
		})
	}
}

// Queries and events have latencies of their own.
func TestQueriesApart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &stub.Server{Serve: func(r stub.Request) stub.Answer {
			if r.Body[0] == 0x2a { // a query
				return stub.Answer{After: 20 * ms, Reply: stub.Ack}
			}
			return stub.Answer{After: ms, Reply: stub.Ack}
		}}
		c := closed(t, s, 1, 1)
		c.Workload = plainLoad(t, 1, func(c *workload.Config) { c.QueryShare, c.Queries, c.Batch = 0.1, []string{"true"}, 10 })
		out := mustRun(t, c)
		events, queries := out.Total.Kinds[workload.Events].Quantiles(), out.Total.Kinds[workload.Asks].Quantiles()
		if !within(events.Max, ms) || !within(queries.Min, 20*ms) {
			t.Errorf("events %+v, queries %+v", events, queries)
		}
		if l := out.Total.Measured; l.Events != 10*(l.Sent-l.Queries) || l.Queries != queries.Count || out.Total.OK().Count() != l.OK {
			t.Errorf("%+v", l)
		}
	})
}

// Whoever takes the port of HTTP for that of Riemann's protocol is told so.
func TestAServerOfHTTPIsTold(t *testing.T) {
	page := []byte("HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n")
	synctest.Test(t, func(t *testing.T) {
		s := &stub.Server{Serve: func(stub.Request) stub.Answer { return stub.Answer{After: 10 * ms, Reply: page, Close: true} }}
		c := closed(t, s, 1, 1)
		c.Duration = time.Second
		out := mustRun(t, c)
		if len(out.Errors) == 0 || !strings.Contains(out.Errors[0].Text, "it answers HTTP") {
			t.Errorf("%+v", out.Errors)
		}
		if err := Fill(t.Context(), s.Dial, plainLoad(t, 1, nil), time.Second); err == nil || !strings.Contains(err.Error(), "it answers HTTP") {
			t.Errorf("Fill: %v", err)
		}
	})
}

func TestFill(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		frames := 0
		s := &stub.Server{Serve: func(stub.Request) stub.Answer { frames++; return stub.Answer{Reply: stub.Ack} }}
		w := plainLoad(t, 1, func(c *workload.Config) { c.Batch = 3 })
		if err := Fill(t.Context(), s.Dial, w, time.Second); err != nil || frames != 34 {
			t.Errorf("%d frames, %v", frames, err)
		}
		err := Fill(t.Context(), nth(20, stub.Answer{Reply: refusal}).Dial, w, time.Second)
		if err == nil || !strings.Contains(err.Error(), "wrong") {
			t.Errorf("a rejection is told as %v", err)
		}
		if err := Fill(t.Context(), nth(20, stub.Answer{Close: true}).Dial, w, time.Second); err == nil {
			t.Error("a closed connection is no error")
		}
		if err := Fill(t.Context(), nth(20, stub.Answer{After: time.Hour}).Dial, w, time.Second); err == nil || !strings.Contains(err.Error(), "no answer within 1s") {
			t.Errorf("silence is told as %v", err)
		}
	})
}

// The real timer sleeps at least as long as it should.
func TestTimer(t *testing.T) {
	timer, err := NewTimer()
	if err != nil {
		t.Fatal(err)
	}
	defer timer.Close()
	for _, d := range []time.Duration{-1, 0, 1, 50 * time.Microsecond, 3 * ms} {
		start := time.Now()
		timer.Sleep(d)
		if took := time.Since(start); took < d {
			t.Errorf("slept %v of %v", took, d)
		}
	}
	if n := testing.AllocsPerRun(20, func() { timer.Sleep(time.Microsecond) }); n != 0 {
		t.Errorf("%v allocations a sleep", n)
	}
}
