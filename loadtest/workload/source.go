package workload

import "math/bits"

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
	step       uint32 // from one key of the connection to its next
	keys       uint64
	random     random
	n          int64 // events so far
	list       bool  // key n, not a drawn one
	last       int64 // of a list
}

// next returns the next event's key, and moves on.
func (k *walk) next() uint32 {
	n := k.n
	k.n++
	if k.list {
		return uint32(min(n, k.last))
	}
	if k.w.zipf != nil {
		return k.popular(n)*k.step + k.connection
	}
	drawn, _ := bits.Mul64(k.random.next(), k.keys)
	return uint32(drawn)*k.step + k.connection
}

// popular takes the n-th of the keys drawn from a Zipf distribution.
// Connections start apart in that sequence.
func (k *walk) popular(n int64) uint32 {
	return uint32(uint64(k.w.zipf[(uint64(n)+uint64(k.connection)*7919)%zipfDraws]) % k.keys)
}

// metric is that of the event whose key next returned last.
func (k *walk) metric() int64 {
	if k.list {
		return fillMetric
	}
	return firstMetric + k.n - 1
}

// Source is the endless sequence of one connection's requests. It is used by
// one goroutine at a time.
type Source struct {
	w         *Workload
	walk      walk
	coin      random
	nextQuery int
	now       stamp
	book      *Book
	replay    walk
}

// Source returns the requests of a connection, 0 to connections-1. With a book
// (which may be nil) it remembers what was sent.
func (w *Workload) Source(connection int, book *Book) *Source {
	s := &Source{w: w, book: book, nextQuery: connection}
	s.walk = walk{
		w: w, connection: uint32(connection % w.Keys()), step: uint32(w.connections), keys: uint64(w.keysOf(connection)),
		random: newRandom(w.config.Seed, 2*connection),
	}
	s.coin = newRandom(w.config.Seed, 2*connection+1)
	s.replay = s.walk
	return s
}

// Append appends the frames of the next requests, at least one and at most n, all
// of the kind that it returns with their number; they are sent at micros (µs
// since 1970).
func (s *Source) Append(out *Outbox, n int, micros int64) (Kind, int) {
	w := s.w
	if w.queryThreshold > 0 {
		n = 1 // the next may be of the other kind
	}
	if w.onlyQueries || w.queryThreshold > 0 && s.coin.next() < w.queryThreshold {
		for range n {
			out.add(w.queries[s.nextQuery%len(w.queries)])
			s.nextQuery++
		}
		return Asks, n
	}
	s.now.set(micros)
	if s.book != nil {
		sent := s.walk
		s.book.note(s.book.sent, &sent, n*w.config.Batch)
	}
	w.patch(out.next(w.msg, n), &s.walk, &s.now)
	return Events, n
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
