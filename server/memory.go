package main

import (
	"darboux/frame"
	"darboux/loop"
)

// A term is one part of what the memory of the process can come to.
type term struct {
	name  string // its key in the line that the start logs
	bytes int64
}

// terms are what everything but the index may need at its worst. docs/LIMITS.md
// explains each term.
func (o *Options) terms() []term {
	loops, handlers, conns := int64(o.Loops), int64(max(o.Handlers, o.Loops)), int64(o.MaxConns)
	out := int64(o.RingSlots)
	if o.Handlers == 0 {
		out = conns
	}
	return []term{
		{"memory", o.Memory},
		{"floors", conns * loop.Floor},
		{"conns", conns * loop.ConnSize},
		{"replies", out * frame.OwnReply},
		{"loops", loops * loop.LoopSize},
		{"handlers", handlers * handlerSize},
		{"queries", cachedQueryBytes},
		{"runtime", runtimeSize},
	}
}

// The parts of the terms that have no setting.
const (
	// handlerSize is the scratch memory of a handler: views of events, their stored
	// forms, lines.
	handlerSize = 2 * mib
	// runtimeSize is what the program itself and the Go runtime take.
	runtimeSize = 32 * mib
)

// logMemory tells what the memory of the process can come to, term by term, and warns
// if that is more than there is.
func (s *server) logMemory() {
	o := s.o
	all := append(o.terms(), term{"index", o.IndexMemory})
	total := totalOf(all)
	var fields []any
	for _, t := range all {
		fields = append(fields, t.name, t.bytes)
	}
	s.log.Info("memory at most, in bytes", append(fields, "total", total, "available", o.Machine.memory, "source", o.Machine.source)...)
	if total > o.Machine.memory {
		s.log.Warn("at worst more memory is needed than there is: the kernel may end the process then",
			"needed", sizeText(total), "available", sizeText(o.Machine.memory),
			"cure", "lower --memory, --max-conns, --ring-slots or --index-memory")
	}
}

func totalOf(terms []term) int64 {
	var sum int64
	for _, t := range terms {
		sum += t.bytes
	}
	return sum
}
