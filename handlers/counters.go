package handlers

import (
	"sync/atomic"

	"darboux/frame"
)

// stat names a counter of the Riemann protocol.
type stat int

const (
	msgs stat = iota
	undecodable
	events
	skippedEvents
	refusedEvents
	noRoom
	noStreamMemory
	tooLarge
	streamed
	brokenOff
	panics
	undecodableDatagrams
	queriesIgnored
	statCount
)

var statNames = [statCount]string{
	msgs:          "msgs",
	undecodable:   "msgs undecodable",
	events:        "events",
	skippedEvents: "events over max-event",
	refusedEvents: "events refused",
	noRoom:        "queries without room in memory",
	tooLarge:      "replies over max-reply",
	streamed:      "replies streamed",
	brokenOff:     "replies broken off",
	panics:        "panics",

	noStreamMemory:       "replies without room in stream memory",
	undecodableDatagrams: "datagrams undecodable",
	queriesIgnored:       "datagram queries ignored",
}

// tally is what one worker counted since it last told, so that handlers don't write
// to the same memory for every Msg.
type tally [statCount]int64

// counters is the sum of all workers' tallies.
type counters [statCount]atomic.Int64

// add adds what a worker counted, and lets it begin anew.
func (c *counters) add(t *tally) {
	for s, n := range t {
		if n != 0 {
			c[s].Add(n)
		}
	}
	*t = tally{}
}

// Stats returns the counters, always the same ones in the same order. Any goroutine
// may call it.
func (r *Riemann) Stats() []frame.Stat {
	out := make([]frame.Stat, statCount)
	for s := range out {
		out[s] = frame.Stat{Name: statNames[s], Value: r.counters[s].Load()}
	}
	return out
}
