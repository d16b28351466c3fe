// Package querylog keeps account of queries, whichever way they came in: it counts them,
// and tells of each if somebody wants to know.
package querylog

import (
	"sync/atomic"

	"darboux/frame"
	"darboux/handlers/index"
)

// Stat names a counter of queries.
type Stat int

// What is counted.
const (
	Asked     Stat = iota
	Unparsed       // answered with a parse error
	TooCostly      // stopped because a match would have cost too much
	Slices         // in which queries were worked
	Looked         // entries that queries looked at, of those worked to their end
	Matched        // events that they found
	statCount
)

var statNames = [statCount]string{
	Asked:     "queries",
	Unparsed:  "queries that do not parse",
	TooCostly: "queries stopped for the cost of a match",
	Slices:    "query slices",
	Looked:    "query entries looked at",
	Matched:   "query matches",
}

// Tally is what one worker counted since it last told, so that handlers don't write to
// the same memory for every query.
type Tally [statCount]int64

// Log is the account. Any goroutine may use it.
type Log struct {
	// Trace, if it is not nil, is told of each query that was worked to its end. It must
	// not block, nor keep what it is given. It is set before the Log is used.
	Trace func(*Trace)

	counters [statCount]atomic.Int64
}

// Trace tells how a query was worked.
type Trace struct {
	Peer  string // who asked
	Query string
	Way   index.Way // how entries were found
	// Looked and Matched are how many entries were looked at, and how many matched.
	Looked, Matched int
	Bytes           int64 // of the reply
	Streamed        bool  // the reply was too long for one buffer
}

// Add adds what a worker counted, and lets it begin anew.
func (l *Log) Add(t *Tally) {
	for s, n := range t {
		if n != 0 {
			l.counters[s].Add(n)
			t[s] = 0
		}
	}
}

// Count is how often something was counted.
func (l *Log) Count(s Stat) int64 { return l.counters[s].Load() }

// Stats returns the counters, always the same ones in the same order.
func (l *Log) Stats() []frame.Stat {
	out := make([]frame.Stat, statCount)
	for s := range out {
		out[s] = frame.Stat{Name: statNames[s], Value: l.Count(Stat(s))}
	}
	return out
}
