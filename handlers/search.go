package handlers

import (
	"fmt"
	"time"

	"darboux/frame"
	"darboux/handlers/index"
	"darboux/handlers/query"
	"darboux/handlers/riemann"
)

const (
	// sliceTime is how long a query works before others have their turn.
	sliceTime = time.Millisecond
	// sliceEntries is the most entries that it looks at in that time.
	sliceEntries = 10_000
	// stepEntries is how many entries it looks at between two looks at the clock;
	// stepCostly, if it has regular expressions, which may cost query.MaxMatchCost
	// for each.
	stepEntries = 500
	stepCostly  = 2
	// replyStep is the room in bytes with which a reply goes on growing when less than
	// replyRest is left.
	replyStep = 4 << 10
	replyRest = 1 << 10
	// smallQuery is the size in bytes up to which a query that is being run needs no
	// room.
	smallQuery = 16 << 10
)

// search is a query that is being run.
type search struct {
	matching bool // true exactly while the query looks at an event
	query    *query.Query
	cursor   index.Cursor
	step     int // entries to look at between two looks at the clock
	start    int // where in the burst's Out its reply begins
	taken    int // bytes of the reserve that the query takes, because it is not small
	reserve  *frame.Reserve
}

// Match notes that it is the query that runs: a panic in it is the query's, any
// other one in the index is the index's own.
func (s *search) Match(e *riemann.Event) bool {
	s.matching = true
	ok := s.query.Match(e)
	s.matching = false
	return ok
}

// Release gives back what the query takes; a cursor holds nothing of the index.
func (s *search) Release() {
	if s.taken > 0 {
		s.reserve.Release(s.taken)
		s.taken = 0
	}
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

// query begins to run the query of a Msg. It returns false if it is to go on in
// another slice.
func (w *msgWorker) query(b *frame.Burst) bool {
	w.tally[queries]++
	w.heavy = true
	q, err := w.compile(b)
	if err != nil {
		w.tally[badQueries]++
		b.Out = riemann.AppendError(b.Out, err.Error())
		return true
	}
	w.search = search{query: q, step: stepEntries, start: len(b.Out)}
	if q.Steps() > 0 {
		w.search.step = stepCostly
	}
	if err := w.search.takeRoom(b.Extra); err != nil {
		w.tally[noRoom]++
		b.Out = riemann.AppendError(b.Out, err.Error())
		return true
	}
	b.Out = riemann.BeginReply(b.Out)
	if w.slice(b, &w.search) {
		w.search.Release()
		return true
	}
	kept := w.search
	b.Kept = &kept
	return false
}

// compile finds the compiled form of the Msg's query. A panic in it is answered as
// an error.
func (w *msgWorker) compile(b *frame.Burst) (q *query.Query, err error) {
	defer w.caught(b, &err)
	return w.Queries.Get(w.msg.Query)
}

// resume goes on with what the burst is in the middle of.
func (w *msgWorker) resume(b *frame.Burst) bool {
	if a, ok := b.Kept.(*applying); ok {
		return w.goOn(b, a)
	}
	w.heavy = true
	if !w.slice(b, b.Kept.(*search)) {
		return false
	}
	b.GiveUp()
	return true
}

// slice works one slice of a query and reports whether that was the last one.
func (w *msgWorker) slice(b *frame.Burst, s *search) bool {
	w.tally[slices]++
	s.cursor.Slice = s.step
	entries := s.cursor.Looked + sliceEntries
	for !s.cursor.Done {
		if s.cursor.Looked >= entries || w.Elapsed() >= w.until {
			return false
		}
		if err := w.step(b, s); err != nil {
			b.CutTo(s.start)
			b.Out = riemann.AppendError(b.Out, err.Error())
			return true
		}
	}
	w.tally[matched] += int64(s.cursor.Matched)
	w.tally[looked] += int64(s.cursor.Looked)
	riemann.EndFrame(b.Out, s.start)
	return true
}

// step searches on until the reply's buffer is full or the slice is over.
func (w *msgWorker) step(b *frame.Burst, s *search) (err error) {
	if !moreRoom(b) {
		return w.withoutRoom(b, s)
	}
	defer func() {
		if s.matching {
			s.matching = false
			w.caughtValue(b, recover(), &err)
		}
	}()
	b.Out = w.Store.Search(s, &s.cursor, b.Out, cap(b.Out))
	if !b.Grow(0) { // the last event may have been larger than the room
		return w.withoutRoom(b, s)
	}
	if n := len(b.Out) - s.start - frame.HeaderLen; n > w.MaxFrame.Value {
		w.tally[tooLarge]++
		return fmt.Errorf("reply of more than %d bytes is over the limit of %d bytes (%s): narrow the query", n, w.MaxFrame.Value, w.MaxFrame.Flag)
	}
	return nil
}

// moreRoom makes the reply's buffer larger if little is left of it: within the burst's own
// room as long as that is of use.
func moreRoom(b *frame.Burst) bool {
	if cap(b.Out)-len(b.Out) >= replyRest {
		return true
	}
	step := replyStep
	if own := b.Own - len(b.Out); own >= replyRest {
		step = min(step, own)
	}
	return b.Grow(step)
}

func (w *msgWorker) withoutRoom(b *frame.Burst, s *search) error {
	w.tally[noRoom]++
	return fmt.Errorf("reply of more than %d bytes finds no room in --memory now: narrow the query or ask again", len(b.Out)-s.start)
}
