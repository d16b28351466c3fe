package index

import (
	"math"

	"darboux/handlers/riemann"
)

// Matcher is what Search asks of a query: a *query.Query.
type Matcher interface {
	Match(e *riemann.Event) bool
}

// Store is an index. All methods may be called from any goroutine.
type Store interface {
	// Apply takes events in their order: the last of a key wins, or with
	// Config.NewestWins the one with the latest time; the state "expired"
	// deletes. now is the time of receipt in microseconds of the Unix epoch.
	// refused, which must be as long as events, tells afterwards which events
	// could not be taken for a limit (WhyRefused names it): of their keys the
	// old event stays. Apply returns their number.
	//
	// Order holds for each key, and so do the changes that a listener is told;
	// events of different keys may pass each other. Nothing of events is kept.
	Apply(events []riemann.Event, now int64, refused []bool) int

	// Search appends the events that q matches to dst, each as a field of a
	// Msg (riemann.AppendEventField), going on from cur, and returns dst. It
	// stops when dst has limit bytes or more (it may exceed limit by one
	// event; 0 is no limit), after about cur.Slice entries, and when all entries were looked
	// at: then cur.Done is set.
	//
	// Over all calls with one Cursor no key comes up twice, and none is missing
	// that matched all the while. Each event is whole, as it was at one moment.
	Search(q Matcher, cur *Cursor, dst []byte, limit int) []byte

	// Expire takes out the entries whose deadline lies before now (microseconds
	// of the Unix epoch) and returns their number. Until then they are visible.
	Expire(now int64) int

	// Listen makes hook be told of every Change from now on, in place of the
	// hook before; nil is nobody. What Listen promises is at Change.
	Listen(hook func(*Change))

	// WhyRefused is the limit that refused an event last, nil if none ever was.
	WhyRefused() *LimitError

	// Stats counts what the store has and did.
	Stats() Stats
}

// Cursor is how far a search has got. Its zero value, with a Slice, begins one;
// it holds nothing of the store, so it may be dropped at any time. It must not
// be used by two goroutines at once, nor with two stores.
type Cursor struct {
	Slice int  // entries to look at in one call, about; 0 is no limit
	Done  bool // all entries were looked at

	Looked  int // entries looked at so far
	Matched int // events appended so far

	shard  int    // the shard at hand
	inside bool   // born and next hold for it
	next   uint64 // where in it to go on
	born   uint64 // entries born at or after this are not part of the search

	view riemann.Event // of the entry at hand
}

// leaveShard makes the cursor go on with the next shard.
func (c *Cursor) leaveShard() {
	c.shard++
	c.inside, c.next, c.born = false, 0, 0
}

// orNone is a limit of bytes, 0 being none.
func orNone(limit int) int {
	if limit <= 0 {
		return math.MaxInt
	}
	return limit
}

// budget is the number of entries that the next call may look at.
func (c *Cursor) budget() int {
	if c.Slice <= 0 {
		return math.MaxInt
	}
	return c.Slice
}

// Stats are the numbers of a store. Counters only grow; the others are gauges.
type Stats struct {
	Entries int64 // gauge: keys that have an event

	StoredBytes int64 // gauge: bytes of the entries' events as stored
	HeldBytes   int64 // gauge: memory taken for the index, whatever it is used for
	FreeBytes   int64 // gauge: of it, what lies in slabs between events: fragmentation

	Inserted int64 // counter: events that made an entry
	Updated  int64 // counter: events that replaced another
	Deleted  int64 // counter: entries deleted by an event with state "expired"
	Expired  int64 // counter: entries taken out by Expire
	Older    int64 // counter: events passed over because the entry's is newer

	RefusedEntries int64 // counter: events refused for the limit of entries
	RefusedMemory  int64 // counter: events refused for the limit of memory

	ClockJumps int64 // counter: jumps of the wall clock that Expire saw
}

// add adds the numbers of a shard.
func (s *Stats) add(t *Stats) {
	s.Entries += t.Entries
	s.StoredBytes += t.StoredBytes
	s.HeldBytes += t.HeldBytes
	s.FreeBytes += t.FreeBytes
	s.Inserted += t.Inserted
	s.Updated += t.Updated
	s.Deleted += t.Deleted
	s.Expired += t.Expired
	s.Older += t.Older
	s.RefusedEntries += t.RefusedEntries
	s.RefusedMemory += t.RefusedMemory
	s.ClockJumps += t.ClockJumps
}
