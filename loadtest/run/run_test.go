package run

import (
	"context"
	"encoding/json"
	"math"
	"testing"
	"testing/synctest"
	"time"

	"darboux/loadtest/pace"
	"darboux/loadtest/stub"
	"darboux/loadtest/workload"
)

const ms = time.Millisecond

func plainLoad(t testing.TB, connections int, change func(*workload.Config)) *workload.Workload {
	t.Helper()
	c := workload.Config{
		Prefix: "load", Hosts: 20, Services: 5, EventSize: 185, TTL: time.Minute,
		Metric: "d", Times: "both", Batch: 1, Seed: 1,
	}
	if change != nil {
		change(&c)
	}
	w, err := workload.New(c, connections)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func fakeSleeper() (Sleeper, error) { return stub.Sleeper{}, nil }

func mustRun(t testing.TB, c Config) *Outcome {
	t.Helper()
	return mustRunIn(t, t.Context(), c)
}

func mustRunIn(t testing.TB, ctx context.Context, c Config) *Outcome {
	t.Helper()
	out, err := Run(ctx, c)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// closed is a closed loop of so many connections, each with so many requests.
func closed(t testing.TB, s *stub.Server, connections, pipeline int) Config {
	return Config{
		Dial: s.Dial, Workload: plainLoad(t, connections, nil), Connections: connections, Pipeline: pipeline,
		Duration: 10 * time.Second, Timeout: 10 * time.Second, Sleeper: fakeSleeper,
	}
}

// open is an open loop at a constant rate of requests/s.
func open(t testing.TB, s *stub.Server, connections int, rate float64, outstanding int) Config {
	c := closed(t, s, connections, 0)
	c.Open = &Open{Schedule: func() *pace.Schedule { return pace.Constant(rate) }, Outstanding: outstanding}
	return c
}

// ackAfter serves each request in d.
func ackAfter(d time.Duration) *stub.Server {
	return &stub.Server{Serve: func(stub.Request) stub.Answer { return stub.Answer{After: d, Reply: stub.Ack} }}
}

// within tells whether got is want to the histogram's three digits.
func within(got int64, want time.Duration) bool {
	return math.Abs(float64(got-int64(want))) <= 0.001*float64(want)+1
}

// Service times of 0.01 to 10 ms, in any order, have known percentiles.
func TestPercentilesAreRight(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const unit = 10 * time.Microsecond
		s := &stub.Server{Serve: func(r stub.Request) stub.Answer {
			return stub.Answer{After: time.Duration(r.Number*777%1000+1) * unit, Reply: stub.Ack}
		}}
		c := closed(t, s, 1, 1)
		c.Duration, c.Count = time.Hour, 5000
		out := mustRun(t, c)
		q := out.Total.OK().Quantiles()
		if q == nil || q.Count != 5000 {
			t.Fatalf("%+v, want 5000 replies", q)
		}
		for name, v := range map[string]struct {
			got  int64
			want time.Duration
		}{
			"min": {q.Min, unit}, "mean": {q.Mean, 500*unit + unit/2},
			"p50": {q.P50, 500 * unit}, "p75": {q.P75, 750 * unit}, "p90": {q.P90, 900 * unit}, "p95": {q.P95, 950 * unit},
			"p99": {q.P99, 990 * unit}, "p99.9": {q.P999, 999 * unit}, "p99.99": {q.P9999, 1000 * unit}, "max": {q.Max, 1000 * unit},
		} {
			if !within(v.got, v.want) {
				t.Errorf("%s is %v, want %v", name, time.Duration(v.got), v.want)
			}
		}
	})
}

// Each of D requests outstanding on a connection waits for the D-1 before it.
func TestPipelineMultipliesLatency(t *testing.T) {
	for _, pipeline := range []int{1, 8, 100} {
		synctest.Test(t, func(t *testing.T) {
			c := closed(t, ackAfter(ms), 3, pipeline)
			c.Duration = 2 * time.Second
			out := mustRun(t, c)
			q := out.Total.OK().Quantiles()
			if !within(q.P50, time.Duration(pipeline)*ms) || !within(q.Max, time.Duration(pipeline)*ms) {
				t.Errorf("pipeline %d: p50 %v, max %v", pipeline, time.Duration(q.P50), time.Duration(q.Max))
			}
			if got, want := out.Total.Arrived.Msgs, int64(3*2000); got < want-3 || got > want {
				t.Errorf("pipeline %d: %d replies in the window, want %d", pipeline, got, want)
			}
		})
	}
}

// stallAt answers in 1 ms, but for one second, in which nothing is answered.
func stallAt(at time.Duration) *stub.Server {
	start := time.Now()
	return &stub.Server{Serve: func(stub.Request) stub.Answer {
		if since := time.Since(start); since >= at && since < at+time.Second {
			return stub.Answer{After: at + time.Second - since + ms, Reply: stub.Ack}
		}
		return stub.Answer{After: ms, Reply: stub.Ack}
	}}
}

// A tenth of the requests fall into the stall, so the 99th percentile must show
// nine tenths of it. With one request outstanding only one request meets it by
// its actual start, and the percentile by that start is blind to it.
func TestAStallIsSeenFromTheIntendedStart(t *testing.T) {
	for _, test := range []struct {
		outstanding    int
		actualShowsToo bool
	}{{1, false}, {0, true}} {
		synctest.Test(t, func(t *testing.T) {
			out := mustRun(t, open(t, stallAt(5*time.Second), 4, 100, test.outstanding))
			intended, actual := out.Total.OK().Quantiles(), out.Total.Actual.Quantiles()
			if intended.Count != 1000 || actual.Count != 1000 {
				t.Fatalf("%d and %d replies, want 1000", intended.Count, actual.Count)
			}
			if intended.P99 < int64(850*ms) {
				t.Errorf("outstanding %d: the intended p99 of %v hides the stall", test.outstanding, time.Duration(intended.P99))
			}
			if shows := actual.P99 > int64(850*ms); shows != test.actualShowsToo {
				t.Errorf("outstanding %d: the actual p99 is %v", test.outstanding, time.Duration(actual.P99))
			}
			if p := out.Pacing; p.Due != 1000 || p.Unsent != 0 || (test.outstanding == 1) != (p.Late > 90 && p.MaxBacklog > 90) {
				t.Errorf("outstanding %d: %+v", test.outstanding, p)
			}
		})
	}
}

func TestOpenLoopKeepsItsRate(t *testing.T) {
	for name, schedule := range map[string]func() *pace.Schedule{
		"constant": func() *pace.Schedule { return pace.Constant(2000) },
		"poisson":  func() *pace.Schedule { return pace.Poisson(2000, 1) },
	} {
		synctest.Test(t, func(t *testing.T) {
			c := open(t, ackAfter(100*time.Microsecond), 5, 1, 0)
			c.Open.Schedule, c.Warmup, c.Duration = schedule, time.Second, 4*time.Second
			out := mustRun(t, c)
			if n := out.Total.Arrived.Msgs; n < 7700 || n > 8300 {
				t.Errorf("%s: %d replies in 4 s, want 8000", name, n)
			}
			if p := out.Pacing; p.Late != 0 || p.Unsent != 0 || p.Due < 7700 || p.MaxFlight < 1 {
				t.Errorf("%s: %+v", name, p)
			}
			if q := out.Total.Actual.Quantiles(); name == "constant" && !within(q.P50, 100*time.Microsecond) {
				t.Errorf("actual p50 %v", time.Duration(q.P50))
			}
		})
	}
}

// What is sent in the warm-up counts in no percentile, even if it is answered
// later; the series has it.
func TestWarmupIsExcluded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		s := &stub.Server{Serve: func(stub.Request) stub.Answer {
			if time.Since(start) < 2*time.Second {
				return stub.Answer{After: 700 * ms, Reply: stub.Ack}
			}
			return stub.Answer{After: 10 * ms, Reply: stub.Ack}
		}}
		c := closed(t, s, 1, 1)
		c.Warmup = 2 * time.Second
		out := mustRun(t, c)
		if q := out.Total.OK().Quantiles(); !within(q.Max, 10*ms) || !within(q.Min, 10*ms) {
			t.Errorf("the warm-up's latencies show: %+v", q)
		}
		first, last := out.Series[0], out.Series[len(out.Series)-1]
		if !first.Warmup || last.Warmup || !within(first.Latency.Max, 700*ms) {
			t.Errorf("series begins with %+v and ends with %+v", first, last)
		}
		if all, m := out.Total.All.Sent, out.Total.Measured.Sent; m >= all || m < 980 {
			t.Errorf("%d requests, %d of them measured", all, m)
		}
	})
}

// A second without replies has no percentiles and nothing that JSON refuses.
func TestASecondWithoutReplies(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := open(t, ackAfter(2500*ms), 1, 10, 1)
		c.Duration = 6 * time.Second
		out := mustRun(t, c)
		silent := 0
		for _, s := range out.Series {
			if s.Latency == nil {
				silent++
			}
			if _, err := json.Marshal(s); err != nil {
				t.Error(err)
			}
		}
		if silent == 0 {
			t.Error("no second without replies")
		}
	})
	synctest.Test(t, func(t *testing.T) {
		s := &stub.Server{Serve: func(stub.Request) stub.Answer { return stub.Answer{} }}
		c := closed(t, s, 2, 4)
		c.Duration, c.Timeout = time.Second, 3*time.Second
		out := mustRun(t, c)
		if out.Total.OK().Quantiles() != nil || len(out.Total.OK().Spectrum()) != 0 {
			t.Error("percentiles of no replies")
		}
		if l := out.Total.All; l.Sent != 8 || l.Timeout != 8 {
			t.Errorf("%+v", l)
		}
	})
}

func TestCountIsExact(t *testing.T) {
	for _, count := range []int64{1, 7, 1000} {
		synctest.Test(t, func(t *testing.T) {
			c := closed(t, ackAfter(ms), 3, 16)
			c.Count = count
			if l := mustRun(t, c).Total.All; l.Sent != count || l.OK != count {
				t.Errorf("closed, count %d: %+v", count, l)
			}
		})
		synctest.Test(t, func(t *testing.T) {
			c := open(t, ackAfter(ms), 3, 500, 0)
			c.Count = count
			if l := mustRun(t, c).Total.All; l.Sent != count || l.OK != count {
				t.Errorf("open, count %d: %+v", count, l)
			}
		})
	}
}

// A small socket makes most writes wait; nothing is lost or out of order.
func TestASocketThatTakesLittle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var last [4]int
		s := &stub.Server{Buffer: 100, Serve: func(r stub.Request) stub.Answer {
			last[r.Connection]++
			if len(r.Body) != 187+1 {
				t.Errorf("a body of %d bytes", len(r.Body))
			}
			return stub.Answer{After: ms, Reply: stub.Ack}
		}}
		c := closed(t, s, 4, 50)
		c.Count = 2000
		out := mustRun(t, c)
		if l := out.Total.All; l.Sent != 2000 || l.OK != 2000 || l.BytesOut != 2000*(188+4) || l.BytesIn != 2000*6 {
			t.Errorf("%+v", l)
		}
		if last[0]+last[1]+last[2]+last[3] != 2000 {
			t.Errorf("the server got %v", last)
		}
	})
}

// The outstanding requests are seen to fall to none at the end.
func TestTheQueueIsSeenToDrain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := closed(t, ackAfter(ms), 1, 500)
		c.Duration = 2 * time.Second
		out := mustRun(t, c)
		levels := map[int64]bool{}
		for _, s := range out.Outstanding {
			levels[s.Flight] = true
		}
		if last := out.Outstanding[len(out.Outstanding)-1]; last.Flight != 0 || !levels[500] || len(levels) < 100 {
			t.Errorf("%d levels, ends with %+v", len(levels), last)
		}
	})
}

// An open loop that can't keep up by far: what was never sent is no more than what was due
// in the window, and as late as can be.
func TestWhatIsNeverSentIsLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := open(t, ackAfter(time.Second), 1, 1000, 1)
		c.Warmup, c.Duration = 3*time.Second, 2*time.Second
		p := mustRun(t, c).Pacing
		if p.Due != 2000 || p.Unsent != p.Due || p.Late != p.Due || !within(p.LatestNs, 2*time.Second) {
			t.Errorf("5 of 5000 requests can be sent, all due in the warm-up: %+v", p)
		}
	})
}

// What falls due after an interrupt was never meant to be sent.
func TestAnInterruptEndsTheSchedule(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		c := open(t, ackAfter(ms), 1, 1000, 0)
		c.Duration = time.Minute
		time.AfterFunc(c.Warmup+3*time.Second, cancel)
		if p := mustRunIn(t, ctx, c).Pacing; p.Due < 2990 || p.Due > 3110 || p.Unsent > 110 {
			t.Errorf("%+v, want about 3000 due", p)
		}
	})
}

func TestAnInterruptEndsEarly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(3*time.Second, cancel)
		out := mustRunIn(t, ctx, closed(t, ackAfter(10*ms), 2, 2))
		if out.Window.To < int64(3*time.Second) || out.Window.To > int64(3100*ms) {
			t.Errorf("the run ended at %v", time.Duration(out.Window.To))
		}
		if l := out.Total.All; l.OK != l.Sent || l.Sent < 590 {
			t.Errorf("%+v", l)
		}
	})
}
