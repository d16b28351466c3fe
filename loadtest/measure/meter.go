package measure

import (
	"sync/atomic"

	"darboux/loadtest/result"
)

// Meter holds the Recorders of a run and adds them up.
type Meter struct {
	window    Window
	open      bool
	recorders []*Recorder
	next      atomic.Int64
	last      int64 // when Interval was last called
}

// NewMeter returns a Meter with a number of recorders (at least 1; one for each
// core is enough). open tells that actual starts differ from intended ones.
func NewMeter(recorders int, w Window, open bool) *Meter {
	m := &Meter{window: w, open: open}
	for range recorders {
		m.recorders = append(m.recorders, newRecorder(w, open))
	}
	return m
}

// Window is the measured part of the run.
func (m *Meter) Window() Window { return m.window }

// Recorder returns the recorder for a further connection.
func (m *Meter) Recorder() *Recorder {
	return m.recorders[int(m.next.Add(1))%len(m.recorders)]
}

// Interval returns what happened since the last call, up to now (ns since the
// run's start). One goroutine calls it.
func (m *Meter) Interval(now int64) result.Second {
	s := result.Second{
		At: seconds(now), Length: seconds(now - m.last),
		Warmup: m.last < m.window.From,
	}
	m.last = now
	latency := NewHistogram()
	for _, r := range m.recorders {
		r.Lock()
		r.take(&s, latency)
		r.Unlock()
	}
	s.Latency = latency.Quantiles()
	return s
}

// take moves the interval into s, latency and the total.
func (r *Recorder) take(s *result.Second, latency *Histogram) {
	i := &r.interval
	s.Sent += i.sent
	s.OK += i.ok
	s.Failed += i.failed
	s.Events += i.events
	s.BytesOut += i.bytesOut
	s.BytesIn += i.bytesIn
	for kind, pair := range i.latency {
		r.total.Kinds[kind].Add(pair[1])
		for _, h := range pair {
			latency.Add(h)
			h.Reset()
		}
	}
	*i = interval{latency: i.latency}
}

// Total adds up the whole run, but for what happened since the last Interval.
func (m *Meter) Total() Total {
	sum := newTotal(m.open)
	for _, r := range m.recorders {
		r.Lock()
		add(&sum.All, &r.total.All)
		add(&sum.Measured, &r.total.Measured)
		sum.Arrived.Msgs += r.total.Arrived.Msgs
		sum.Arrived.Events += r.total.Arrived.Events
		sum.Arrived.BytesOut += r.total.Arrived.BytesOut
		sum.Arrived.BytesIn += r.total.Arrived.BytesIn
		for kind := range sum.Kinds {
			sum.Kinds[kind].Add(r.total.Kinds[kind])
		}
		sum.Failed.Add(r.total.Failed)
		if m.open {
			sum.Actual.Add(r.total.Actual)
		}
		r.Unlock()
	}
	return sum
}

// OK is the latency of all measured ok replies, of either kind.
func (t *Total) OK() *Histogram {
	sum := NewHistogram()
	for _, h := range t.Kinds {
		sum.Add(h)
	}
	return sum
}

func add(sum, l *result.Ledger) {
	sum.Sent += l.Sent
	sum.OK += l.OK
	sum.Rejected += l.Rejected
	sum.Malformed += l.Malformed
	sum.Timeout += l.Timeout
	sum.Reset += l.Reset
	sum.Missing += l.Missing
	sum.Events += l.Events
	sum.EventsOK += l.EventsOK
	sum.Queries += l.Queries
	sum.BytesOut += l.BytesOut
	sum.BytesIn += l.BytesIn
}

func seconds(ns int64) float64 { return float64(ns) / 1e9 }

// Per returns n a second over a time in seconds, or 0 over none: never NaN.
func Per(n int64, seconds float64) float64 {
	if seconds <= 0 {
		return 0
	}
	return float64(n) / seconds
}

// Ratio returns a/b, or nil if b is 0.
func Ratio(a, b float64) *float64 {
	if b == 0 {
		return nil
	}
	r := a / b
	return &r
}
