package index

import (
	"math"

	"darboux/handlers/query"
	"darboux/handlers/riemann"
)

// Matcher is what Search asks of a query.
type Matcher interface {
	Match(e *riemann.Event) bool
}

// Query is what a search makes more of than of any Matcher: a *query.Query, or what wraps
// one. Its events need have no other fields than it Needs.
type Query interface {
	Matcher
	Needs() riemann.Fields
	Lookups() []query.Lookup
	Steps() int
	Terms() int
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
	// stops when dst has limit bytes or more (it may exceed limit by one event,
	// unless cur.Within; 0 is no limit), after about cur.Slice entries, and when
	// all entries were looked at: then cur.Done is set.
	//
	// Over all calls with one Cursor no key comes up twice, and none is missing
	// that matched all the while. Each event is whole, as it was at one moment.
	// A panic of q ends the search and goes on to the caller.
	Search(q Matcher, cur *Cursor, dst []byte, limit int) []byte

	// Stream begins a search, or goes on with one, whose matches may be more than
	// a buffer has room for.
	Stream() Stream

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

// Stream is the matches of a search, kept without being copied until it is their turn, in
// the version in which they were found, whatever is overwritten, deleted or expired
// meanwhile. First all are found, then they are taken out. Whoever opened it uses it,
// from one goroutine at a time, and releases it.
type Stream interface {
	// Find is Search, but that the matches go into the stream.
	Find(q Matcher, cur *Cursor)

	// Next appends what comes next of the matches to dst, up to limit bytes in dst or a
	// few more, so that an event may come in several pieces. done says that nothing
	// more comes.
	Next(dst []byte, limit int) (out []byte, done bool)

	// Broken is why the stream was given up, because memory for streams is short; nil as
	// long as it was not. What it held is gone then: Find finds nothing more, and Next
	// has nothing more, though it is not done. Any goroutine may call it.
	Broken() error

	// Release lets go of all that is held. It is called once, whatever became of it.
	Release()
}

// Way is how a search finds the entries to look at.
type Way uint8

// The ways, the one that costs the most last.
const (
	ByNothing Way = iota // none need be looked at
	ByKey                // the one with a host and a service
	ByPosting            // those that the postings name
	ByScan               // all
	ways
)

func (w Way) String() string { return [ways]string{"nothing", "key", "posting", "scan"}[w] }

// Cursor is how far a search has got. Its zero value, with a Slice, begins one;
// it holds nothing of the store, so it may be dropped at any time. It must not
// be used by two goroutines at once, nor with two stores.
type Cursor struct {
	Slice  int  // entries to look at in one call, about, and fewer if they are large; 0 is no limit
	Within bool // Search stops before a match that would exceed its limit, and sets Full
	Count  bool // Search only counts the matches

	Done bool // all entries were looked at
	Full bool // a match had no room; the next call begins with it

	Looked  int   // entries looked at so far
	Matched int   // events found so far
	Bytes   int64 // that they take as fields of a Msg
	Way     Way   // how the entries were found, in the shard where that cost the most

	begun  bool   // plan is made, if there is one
	plan   *plan  // of an Index; nil: all entries are looked at
	large  bool   // of an Index: the next entry is a large one
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
	if c.plan != nil {
		c.plan.begin()
	}
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

	Pins        int64 // gauge: times that entries are held for searches and streams
	OrphanBytes int64 // gauge: memory of old versions that are only held for these

	Searches SearchStats
	Streams  StreamStats
}

// SearchStats are the numbers of a store's searches, all of them counters. A snapshot is a
// search, too.
type SearchStats struct {
	ByKey, ByPosting, ByScan int64 // searches that are done, by the way they went
	Looked                   int64 // entries that searches looked at
}

// StreamStats are the numbers of a store's streams.
type StreamStats struct {
	Open   int64 // gauge: streams
	Bytes  int64 // gauge: memory for streams, including OrphanBytes
	Opened int64 // counter: streams
	Broken int64 // counter: streams that were given up for want of memory
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
	s.Pins += t.Pins
	s.OrphanBytes += t.OrphanBytes
}
