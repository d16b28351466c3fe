package measure

import (
	"encoding/json"
	"math"
	"slices"
	"testing"

	"darboux/loadtest/result"
	"darboux/loadtest/workload"

	"pgregory.net/rapid"
)

// Percentiles are those of the sorted list, to three digits; the rank is the
// nearest to the share.
func TestQuantilesAreThoseOfTheList(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		values := rapid.SliceOfN(rapid.Int64Range(0, longest), 1, 500).Draw(t, "ns")
		h := NewHistogram()
		for _, v := range values {
			h.Record(v, 1)
		}
		slices.Sort(values)
		q := h.Quantiles()
		for _, p := range []struct {
			share float64
			got   int64
		}{{0, q.Min}, {0.5, q.P50}, {0.75, q.P75}, {0.9, q.P90}, {0.95, q.P95}, {0.99, q.P99}, {0.999, q.P999}, {0.9999, q.P9999}, {1, q.Max}} {
			rank := min(max(int(p.share*float64(len(values))+0.5), 1), len(values))
			want := values[rank-1]
			if math.Abs(float64(p.got-want)) > 0.001*float64(want)+1 {
				t.Fatalf("quantile %v is %d, want %d", p.share, p.got, want)
			}
		}
		if q.Count != int64(len(values)) || q.Beyond != 0 {
			t.Fatalf("%+v", q)
		}
	})
}

func TestWhatNoHistogramHolds(t *testing.T) {
	h := NewHistogram()
	if h.Quantiles() != nil || h.Spectrum() == nil || len(h.Spectrum()) != 0 {
		t.Error("an empty histogram has values")
	}
	h.Record(-5, 2)
	h.Record(3*longest, 3)
	if q := h.Quantiles(); q.Count != 5 || q.Beyond != 3 || q.Min != 0 || q.Max < longest {
		t.Errorf("%+v", q)
	}
	sum := NewHistogram()
	sum.Add(h)
	sum.Add(h)
	if q := sum.Quantiles(); q.Count != 10 || q.Beyond != 6 {
		t.Errorf("%+v", q)
	}
	sum.Reset()
	if sum.Count() != 0 || sum.Quantiles() != nil {
		t.Error("a histogram keeps values that were reset")
	}
}

// Whatever happens to requests, recorders and intervals: the ledger balances,
// the intervals add up to it, and the measured part is that of the window.
func TestTotalsAddUp(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := Window{From: 1000, To: 5000}
		m := NewMeter(3, w, rapid.Bool().Draw(t, "open"))
		var sum result.Second
		var want, measured result.Ledger
		for i := range rapid.IntRange(1, 60).Draw(t, "groups") {
			r := m.Recorder()
			intended := rapid.Int64Range(0, 6000).Draw(t, "intended")
			e := Ended{
				Outcome: Outcome(rapid.IntRange(0, int(Missing)).Draw(t, "outcome")), Kind: workload.Kind(rapid.IntRange(0, 1).Draw(t, "kind")),
				N: rapid.Int64Range(1, 9).Draw(t, "n"), Intended: intended, Actual: intended + 5, Now: intended + rapid.Int64Range(10, 900).Draw(t, "took"),
			}
			if e.Kind == workload.Events {
				e.Events = 10 * e.N
			}
			r.Lock()
			r.Sent(e.Kind, e.N, e.Events, e.Intended)
			r.Ended(e)
			r.Unlock()
			want.Sent += e.N
			count(&want, &e)
			if w.Has(intended) {
				measured.Sent += e.N
				count(&measured, &e)
			}
			if i%7 == 0 {
				addSecond(&sum, m.Interval(int64(i)*100))
			}
		}
		addSecond(&sum, m.Interval(100_000))
		total := m.Total()
		all := total.All
		if !all.Balanced() || !total.Measured.Balanced() || all.OK != want.OK || all.Failed() != want.Failed() || all.EventsOK != want.EventsOK {
			t.Fatalf("%+v, want %+v", all, want)
		}
		if total.Measured.OK != measured.OK || total.OK().Count() != measured.OK || total.Failed.Count() != measured.Failed()-measured.Missing {
			t.Fatalf("measured %+v with %d latencies, want %+v", total.Measured, total.OK().Count(), measured)
		}
		if sum.Sent != all.Sent || sum.OK != all.OK || sum.Failed != all.Failed() || sum.Events != all.EventsOK {
			t.Fatalf("intervals add up to %+v, all is %+v", sum, all)
		}
		if total.Actual != nil && total.Actual.Count() != measured.OK {
			t.Fatalf("%d latencies from the actual start", total.Actual.Count())
		}
	})
}

func addSecond(sum *result.Second, s result.Second) {
	sum.Sent += s.Sent
	sum.OK += s.OK
	sum.Failed += s.Failed
	sum.Events += s.Events
}

func TestTheTwoStarts(t *testing.T) {
	m := NewMeter(1, Window{0, 1000}, true)
	r := m.Recorder()
	r.Lock()
	r.Sent(workload.Events, 1, 1, 100)
	r.Ended(Ended{Outcome: OK, N: 1, Events: 1, Intended: 100, Actual: 400, Now: 600})
	r.Unlock()
	s := m.Interval(1000)
	total := m.Total()
	if got := total.OK().Quantiles().Max; got != 500 || s.Latency.Max != 500 {
		t.Errorf("from the intended start %d and %d, want 500", got, s.Latency.Max)
	}
	if got := total.Actual.Quantiles().Max; got != 200 {
		t.Errorf("from the actual start %d, want 200", got)
	}
}

// An answer counts for the rate when it comes, for the percentiles by its start.
func TestRatesAreByArrival(t *testing.T) {
	m := NewMeter(1, Window{1000, 2000}, false)
	r := m.Recorder()
	r.Lock()
	for _, e := range []Ended{{Intended: 900, Now: 1100}, {Intended: 1500, Now: 1600}, {Intended: 1900, Now: 2100}} {
		e.N, e.Events = 1, 10
		r.Sent(workload.Events, 1, 10, e.Intended)
		r.Ended(e)
	}
	r.Wrote(5, 999)
	r.Wrote(7, 1000)
	r.Read(11, 1999)
	r.Read(13, 2000)
	r.Unlock()
	m.Interval(3000)
	total := m.Total()
	if a := total.Arrived; a != (Arrived{Msgs: 2, Events: 20, BytesOut: 7, BytesIn: 11}) {
		t.Errorf("%+v", a)
	}
	if n := total.OK().Count(); n != 2 || total.All.BytesOut != 12 || total.All.BytesIn != 24 {
		t.Errorf("%d latencies, %+v", n, total.All)
	}
}

func TestNothingIsEverNaN(t *testing.T) {
	if Per(5, 0) != 0 || Per(10, 2) != 5 || Ratio(1, 0) != nil || *Ratio(1, 2) != 0.5 {
		t.Error("a rate or ratio is wrong")
	}
	m := NewMeter(2, Window{0, 10}, true)
	if _, err := json.Marshal(m.Interval(0)); err != nil {
		t.Error(err)
	}
}

func BenchmarkEnded(b *testing.B) {
	m := NewMeter(1, Window{0, math.MaxInt64}, false)
	r := m.Recorder()
	b.ReportAllocs()
	for i := int64(0); b.Loop(); i++ {
		r.Lock()
		r.Ended(Ended{N: 1, Events: 1, Intended: i, Now: i + 12345 + i%1000})
		r.Unlock()
	}
}
