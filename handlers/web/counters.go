package web

import (
	"sync/atomic"

	"darboux/frame"
)

// stat names a counter of HTTP.
type stat int

const (
	requests stat = iota
	refused
	unparsed
	informed // replies by their status: the first of five
	succeeded
	redirected
	clientErrors
	serverErrors
	streamed
	failed
	gone
	noProducer
	panics
	statCount
)

var statNames = [statCount]string{
	requests:     "http requests",
	refused:      "http requests refused by framing",
	unparsed:     "http requests unparsed",
	informed:     "http replies: 1xx",
	succeeded:    "http replies: 2xx",
	redirected:   "http replies: 3xx",
	clientErrors: "http replies: 4xx",
	serverErrors: "http replies: 5xx",
	streamed:     "http replies streamed",
	failed:       "http bodies failed",
	gone:         "http bodies without reader",
	noProducer:   "http bodies refused",
	panics:       "http panics",
}

// tally is what one worker counted since it last told.
type tally [statCount]int64

// counters is the sum of all that was counted.
type counters [statCount]atomic.Int64

// add adds what a worker counted, and lets it begin anew.
func (c *counters) add(t *tally) {
	for s, n := range t {
		if n != 0 {
			c[s].Add(n)
			t[s] = 0
		}
	}
}

// class is the counter of a status.
func class(status int) stat {
	return informed + stat(min(max(status/100, 1), 5)-1)
}

// Stats returns the counters and gauges, always the same ones in the same order. Any
// goroutine may call it.
func (h *HTTP) Stats() []frame.Stat {
	out := make([]frame.Stat, statCount, statCount+2)
	for s := range out {
		out[s] = frame.Stat{Name: statNames[s], Value: h.counters[s].Load()}
	}
	return append(out,
		frame.Stat{Name: "http producers", Gauge: true, Value: int64(h.Producing())},
		frame.Stat{Name: "http producers limit", Gauge: true, Value: int64(h.Producers.Value)})
}

// eventCounts counts the events of requests.
type eventCounts struct {
	given, refused atomic.Int64 // to and by the index
	skipped        atomic.Int64 // because they are too large
}

// Stats returns the counters of events, always the same ones in the same order. Any
// goroutine may call it.
func (a *API) Stats() []frame.Stat {
	return []frame.Stat{
		{Name: "http events", Value: a.counts.given.Load()},
		{Name: "http events refused", Value: a.counts.refused.Load()},
		{Name: "http events over max-event", Value: a.counts.skipped.Load()},
	}
}
