package main

import (
	"math"
	"runtime/debug"

	"darboux/handlers/query"
	"darboux/handlers/web"
	"darboux/loop"
)

// A term is one part of what the memory of the process can come to.
type term struct {
	name  string // its key in the line that the start logs
	bytes int64
}

// The parts of terms that have no setting, in bytes. docs/LIMITS.md explains them.
const (
	// handlerSize is what a handler keeps between two bursts: views of events, their
	// stored forms, lines.
	handlerSize = 2 * mib
	// grownFrame is how much of --max-frame a handler may need for a moment, in
	// quarters: what a large Msg or reply is copied from and to while it grows.
	grownFrame = 10
	// flightSize is what a burst in flight may hold beside its buffers: a query that
	// is not large, a reply's state.
	flightSize = 64 * kib
	// keptSize is what a reply may keep beside its buffers and the reserve while its
	// reader stands still.
	keptSize = 8 * kib
	// producerSize is a body writer's buffer and stack.
	producerSize = 128 * kib
	// snapshotSize is what is being written, beside the largest event.
	snapshotSize = 4 * mib
	// tracesSize is spans that wait and those on their way, with all texts at their longest.
	tracesSize = (mostSpans + spanBatch) * 12 * kib
	// runtimeSize is what the program itself and the Go runtime take, and garbage that
	// the collector has not seen yet.
	runtimeSize = 32 * mib
	// indexOwn is the part of the index's memory, as a divisor, that says on the Go heap
	// how the rest is used.
	indexOwn = 1024
)

// terms are what everything but the index may need at its worst, all of it at the same
// moment.
func (o *Options) terms() []term {
	loops, handlers, conns, flying := int64(o.Loops), int64(o.Handlers), int64(o.MaxConns), int64(o.RingSlots)
	if handlers == 0 { // the loops work their connections' bursts, one slice of each in turns
		handlers, flying = loops, conns
	}
	all := []term{
		{"conns_memory", o.Memory},
		{"conns_floors", conns * loop.BeyondShare},
		{"conns_own", conns * loop.ConnSize},
		{"loops", loops * (loop.LoopSize + o.longestFrame()/loop.Growth)},
		{"handlers", handlers * (handlerSize + o.MaxFrame*grownFrame/4 + query.MaxPatterns)},
		{"in_flight", flying * flightSize},
		{"replies_kept", conns * keptSize},
		{"queries", cachedQueryBytes},
		{"streams", o.StreamMemory},
		{"log", o.LogMemory},
	}
	if len(o.UDP) > 0 || len(o.Graphite) > 0 {
		all = append(all, term{"datagrams", loops * loop.DatagramBatch * loop.MaxDatagram})
	}
	if len(o.HTTP) > 0 {
		all = append(all, term{"producers", int64(o.HTTPProducers) * producerSize}, term{"sorting", web.SortingSize})
	}
	if o.HTTPTraces != "" {
		all = append(all, term{"traces", tracesSize})
	}
	if o.Snapshot != "" {
		all = append(all, term{"snapshot", snapshotSize + 3*o.MaxEvent})
	}
	return append(all, term{"runtime", runtimeSize + max(0, o.IndexMemory)/indexOwn})
}

func totalOf(terms []term) int64 {
	var sum int64
	for _, t := range terms {
		sum += t.bytes
	}
	return sum
}

// logMemory tells what the memory of the process can come to, term by term.
func (s *server) logMemory() {
	o := s.o
	all := append(o.terms(), term{"index", o.IndexMemory})
	total := totalOf(all)
	var fields []any
	for _, t := range all {
		fields = append(fields, t.name, t.bytes)
	}
	s.log.Info("memory at most, in bytes", append(fields, "total", total, "available", o.Machine.memory, "source", o.Machine.source)...)
}

// memoryWarnings tells if that is more than there is.
func (o *Options) memoryWarnings() []warning {
	total := totalOf(o.terms()) + o.IndexMemory
	if total <= o.Machine.memory {
		return nil
	}
	return []warning{{"at worst more memory is needed than there is: the kernel may end the process then",
		[]any{"needed", byteSize(total), "available", byteSize(o.Machine.memory),
			"cure", "lower --memory, --stream-memory, --max-frame, --max-conns, --ring-slots or --index-memory"}}}
}

// heapMargin is the part of the sum, as a divisor, by which the collector may overshoot.
const heapMargin = 16

// limitGarbage lets the collector work harder before the Go heap is larger than its terms
// together, so that garbage stands in for nothing that is not needed. GOMEMLIMIT in the
// environment is a limit that somebody wanted, and stays. The index has its own memory.
func (o *Options) limitGarbage() {
	if indexOnHeap || debug.SetMemoryLimit(-1) != math.MaxInt64 {
		return
	}
	sum := totalOf(o.terms())
	debug.SetMemoryLimit(sum - sum/heapMargin)
}
