package workload

import (
	"math/bits"
	"math/rand/v2"
)

// Kind tells what a request is.
type Kind uint8

// The kinds of a request.
const (
	Events Kind = iota
	Asks        // a query
)

// walk is the sequence of keys and metrics of one connection. A copy of it
// repeats the sequence: so what was acknowledged is known without remembering
// each request.
type walk struct {
	w          *Workload
	connection uint32
	keys       uint64
	random     rand.PCG
	n          int64 // events so far
	list       bool  // key n, not a drawn one
	last       int64 // of a list
}

func (k *walk) next() uint32 {
	n := k.n
	k.n++
	if k.list {
		return uint32(min(n, k.last))
	}
	var drawn uint64
	if zipf := k.w.zipf; zipf != nil {
		// Connections start apart in the drawn sequence.
		drawn = uint64(zipf[(uint64(n)+uint64(k.connection)*7919)%zipfDraws]) % k.keys
	} else {
		drawn, _ = bits.Mul64(k.random.Uint64(), k.keys)
	}
	return uint32(drawn)*uint32(k.w.connections) + k.connection
}

// metric is that of the event whose key next returned last.
func (k *walk) metric() int64 {
	if k.list {
		return firstMetric - 1
	}
	return firstMetric + k.n - 1
}

// Source is the endless sequence of one connection's requests. It is used by
// one goroutine at a time.
type Source struct {
	w         *Workload
	walk      walk
	coin      rand.PCG
	nextQuery int
	now       stamp
	book      *Book
	replay    walk
}

// Source returns the requests of a connection, 0 to connections-1. With a book
// (which may be nil) it remembers what was sent.
func (w *Workload) Source(connection int, book *Book) *Source {
	s := &Source{w: w, book: book, nextQuery: connection}
	s.walk = walk{w: w, connection: uint32(connection % w.Keys()), keys: uint64(w.keysOf(connection))}
	s.walk.random.Seed(w.config.Seed, uint64(connection)+1000)
	s.coin.Seed(w.config.Seed, uint64(connection)+2000)
	s.replay = s.walk
	return s
}

// Append appends the frame of the next request, which is sent at micros (µs
// since 1970).
func (s *Source) Append(out *Outbox, micros int64) Kind {
	w := s.w
	if w.onlyQueries || w.queryThreshold > 0 && s.coin.Uint64() < w.queryThreshold {
		out.add(w.queries[s.nextQuery%len(w.queries)])
		s.nextQuery++
		return Asks
	}
	s.now.set(micros)
	if s.book != nil {
		sent := s.walk
		s.book.note(s.book.sent, &sent, w.config.Batch)
	}
	w.patch(out.next(w.msg), &s.walk, &s.now)
	return Events
}

// Answered tells that the next n Msgs of events, in the order of their sending,
// came to their end, and whether they were acknowledged. It matters only with a
// Book.
func (s *Source) Answered(n int, ok bool) {
	if s.book == nil {
		return
	}
	events := n * s.w.config.Batch
	if ok {
		s.book.note(s.book.acked, &s.replay, events)
		return
	}
	for range events {
		s.replay.next()
	}
}
