package handlers

import (
	"fmt"
	"time"

	"darboux/frame"
	"darboux/handlers/index"
	"darboux/handlers/query"
	"darboux/handlers/querylog"
	"darboux/handlers/riemann"
)

const (
	// sliceTime is how long a query works before others have their turn.
	sliceTime = time.Millisecond
	// sliceEntries is the most entries that it looks at in that time.
	sliceEntries = 10_000
	// smallQuery is the size in bytes up to which a query that is being run needs no
	// room.
	smallQuery = 4 << 10
)

// search is a query that is being run, and its reply. As long as that fits into one
// buffer, what matches is copied there. What does not goes into a stream: when all is
// found the reply's length is known, and it is sent piece by piece (see reply.go).
type search struct {
	query    *query.Query
	matching bool // true exactly while the query looks at an event
	cursor   index.Cursor
	step     int // entries to look at between two looks at the clock
	start    int // where in the burst's Out its reply begins
	taken    int // bytes of the reserve that the query takes, because it is not small
	reserve  *frame.Reserve
	stream   index.Stream // what has no room in the buffer; nil: all has
	sending  bool         // the reply's length is written: what is left is in stream
}

// Match notes that it is the query that runs: a panic in it is the query's, any
// other one in the index is the index's own.
func (s *search) Match(e *riemann.Event) bool {
	s.matching = true
	ok := s.query.Match(e)
	s.matching = false
	return ok
}

// Needs implements index.Query, as do Lookups, Steps and Terms.
func (s *search) Needs() riemann.Fields { return s.query.Needs() }

// Lookups are the query's.
func (s *search) Lookups() []query.Lookup { return s.query.Lookups() }

// Steps are the query's.
func (s *search) Steps() int { return s.query.Steps() }

// Terms are the query's.
func (s *search) Terms() int { return s.query.Terms() }

var (
	_ index.Query     = (*search)(nil)
	_ frame.Breakable = (*search)(nil)
)

// Release gives back what the query and its stream take.
func (s *search) Release() {
	s.dropQuery()
	s.dropStream()
}

// dropQuery gives up the query, and the room that it takes.
func (s *search) dropQuery() {
	s.query = nil
	if s.taken > 0 {
		s.reserve.Release(s.taken)
		s.taken = 0
	}
}

func (s *search) dropStream() {
	if s.stream != nil {
		s.stream.Release()
		s.stream = nil
	}
}

// Broken is why the rest of the reply can't be had any more.
func (s *search) Broken() error {
	if s.stream == nil {
		return nil
	}
	return s.stream.Broken()
}

// takeRoom takes room for a query that is not small: it may be out of the cache long
// before it ends.
func (s *search) takeRoom(from *frame.Reserve) error {
	over := s.query.Size() - smallQuery
	if over <= 0 {
		return nil
	}
	if from == nil || !from.TryTake(over) {
		return fmt.Errorf("query of %d bytes compiled finds no room in --memory now: shorten its regular expressions or ask again", s.query.Size())
	}
	s.taken, s.reserve = over, from
	return nil
}

// query begins to run the query of a Msg.
func (w *msgWorker) query(b *frame.Burst) frame.Status {
	w.asked[querylog.Asked]++
	w.heavy = true
	q, err := w.compile(b)
	if err != nil {
		w.asked[querylog.Unparsed]++
		b.Out = riemann.AppendError(b.Out, err.Error())
		return frame.Done
	}
	w.search = search{query: q, step: q.Step(), start: len(b.Out), cursor: index.Cursor{Within: true}}
	if err := w.search.takeRoom(b.Extra); err != nil {
		w.tally[noRoom]++
		b.Out = riemann.AppendError(b.Out, err.Error())
		return frame.Done
	}
	b.Out = riemann.BeginReply(b.Out)
	status := w.slice(b, &w.search)
	if status == frame.Done && !b.Close {
		w.search.Release()
		return status
	}
	kept := w.search
	b.Kept = &kept
	return status
}

// compile finds the compiled form of the Msg's query. A panic in it is answered as
// an error.
func (w *msgWorker) compile(b *frame.Burst) (q *query.Query, err error) {
	defer w.caught(b, &err)
	return w.Queries.Get(w.msg.Query)
}

// resume goes on with what the burst is in the middle of.
func (w *msgWorker) resume(b *frame.Burst) frame.Status {
	if a, ok := b.Kept.(*applying); ok {
		return w.goOn(b, a)
	}
	w.heavy = true
	status := w.slice(b, b.Kept.(*search))
	if status == frame.Done && !b.Close {
		b.GiveUp()
	}
	return status
}

// slice works one slice of a query: it finds, and when all is found it sends.
func (w *msgWorker) slice(b *frame.Burst, s *search) frame.Status {
	if s.sending {
		return w.send(b, s)
	}
	w.asked[querylog.Slices]++
	s.cursor.Slice = s.step
	entries := s.cursor.Looked + sliceEntries
	for !s.cursor.Done {
		if s.cursor.Looked >= entries || w.Elapsed() >= w.until {
			return frame.Yielded
		}
		if err := w.find(b, s); err != nil {
			w.fail(b, s, err)
			return frame.Done
		}
	}
	return w.found(b, s)
}

// find goes on with the search until its step is done, or the reply's buffer is full: then
// the rest goes into a stream.
func (w *msgWorker) find(b *frame.Burst, s *search) (err error) {
	defer func() {
		if s.matching {
			s.matching = false
			w.caughtValue(b, recover(), &err)
		}
	}()
	switch {
	case s.cursor.Count:
		w.Store.Search(s, &s.cursor, nil, 0)
		return nil
	case s.stream != nil:
		s.stream.Find(s, &s.cursor)
		w.boundReply(s)
		return w.unbroken(s)
	}
	most := min(s.start+frame.MaxSmallReply, b.Own)
	growWithin(b, most, s.cursor.Full)
	b.Out = w.Store.Search(s, &s.cursor, b.Out, min(cap(b.Out), most))
	if (s.cursor.Full || len(b.Out) >= most) && cap(b.Out) >= most {
		s.stream = w.Store.Stream()
	}
	w.boundReply(s)
	return nil
}

// replyRest is the room in bytes that a reply should find in its buffer.
const replyRest = 4 << 10

// growWithin makes the reply's buffer larger, up to most bytes, if little is left of it or
// it is full.
func growWithin(b *frame.Burst, most int, full bool) {
	if cap(b.Out) < most && (full || cap(b.Out)-len(b.Out) < replyRest) {
		b.Out = append(make([]byte, 0, min(most, max(2*cap(b.Out), len(b.Out)+replyRest))), b.Out...)
	}
}
