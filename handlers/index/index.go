package index

import (
	"fmt"
	"math/bits"
	"sync"
	"sync/atomic"

	"darboux/handlers/riemann"
)

// Index is the store for millions of entries: nothing of them is on the Go heap,
// so they cost the garbage collector nothing.
//
// Keys are spread over shards, each with a lock, by a hash that clients can't
// predict. In a shard
//
//	keys   (a table) finds by the hash of a key where its entry is,
//	events (a slab) has the entries: a header and the event in its stored form,
//	ids    gives each entry a number, and has the deadlines by it,
//	terms  (a table and a slab) has for each host, service, state and tag the
//	       numbers of the entries that have it.
//
// All of it lies in pages of memory that the collector doesn't look at.
type Index struct {
	cfg      Config
	hasher   hasher
	pages    *pages
	shards   []*shard
	listener listener

	entries atomic.Int64
	refusal atomic.Pointer[LimitError]
	batches sync.Pool // of *batch
	plans   sync.Pool // of *plan

	// Pages that may be in use: softPages for entries; the rest up to hardPages
	// is for what known keys may need in postings.
	softPages, hardPages int64

	reaper   reaper
	streams  streams
	searches struct {
		ways   [ways]atomic.Int64
		looked atomic.Int64
	}
	touched atomic.Uint64 // see shard.touched

	withoutPostings bool // tests measure what they cost
}

var _ Store = (*Index)(nil)

// New returns an empty Index. It panics if cfg is not valid. Close frees it.
func New(cfg Config) *Index {
	cfg = cfg.withDefaults()
	if m := cfg.Memory.Value; m != 0 && (m < LeastMemory(cfg.Shards) || m > MaxMemory) {
		panic(fmt.Sprintf("BUG: an index of %d shards can't be limited to %d bytes: at least %d, at most %d", cfg.Shards, m, LeastMemory(cfg.Shards), int64(MaxMemory)))
	}
	hard := cfg.Memory.Value >> pageShift
	if hard == 0 {
		hard = MaxMemory >> pageShift
	}
	x := &Index{cfg: cfg, hasher: newHasher(), softPages: hard - hard/32, hardPages: hard}
	x.pages = &pages{limit: hard}
	x.streams.begin(cfg.StreamMemory)
	x.batches.New = func() any { return new(batch) }
	x.plans.New = func() any { return new(plan) }
	for range cfg.Shards {
		x.shards = append(x.shards, newShard(x))
	}
	return x
}

// Close frees the index's memory. Nobody may use the index during Close or
// afterwards; all streams are released before, or Close panics.
func (x *Index) Close() {
	x.streams.wait()
	for _, s := range x.shards {
		if s.counts.Pins != 0 {
			panic("BUG: the index is closed while entries are pinned")
		}
	}
	x.shards = nil
	x.pages.close()
}

// Listen implements Store.
func (x *Index) Listen(hook func(*Change)) { x.listener.set(hook) }

// WhyRefused implements Store.
func (x *Index) WhyRefused() *LimitError { return x.refusal.Load() }

// Stats implements Store.
func (x *Index) Stats() Stats {
	var sum Stats
	for _, s := range x.shards {
		s.mu.Lock()
		sum.add(&s.counts)
		sum.FreeBytes += s.events.held - s.events.taken + s.terms.slab.held - s.terms.slab.taken
		s.mu.Unlock()
	}
	sum.Entries = x.entries.Load()
	sum.HeldBytes = x.pages.inUse.Load() << pageShift
	sum.ClockJumps = x.reaper.jumps.Load()
	sum.Searches = SearchStats{
		ByKey:     x.searches.ways[ByKey].Load(),
		ByPosting: x.searches.ways[ByPosting].Load(),
		ByScan:    x.searches.ways[ByScan].Load(),
		Looked:    x.searches.looked.Load(),
	}
	sum.Streams = x.streams.stats()
	return sum
}

// shardOf is the number of the shard of a key.
func (x *Index) shardOf(k *keyHash) int {
	return int(k.shard >> (32 - uint(bits.TrailingZeros(uint(len(x.shards))))))
}

// refuse notes that a limit refused an event.
func (x *Index) refuse(what string, limit Limit) bool {
	if last := x.refusal.Load(); last == nil || last.What != what {
		x.refusal.Store(&LimitError{what, limit})
	}
	return false
}

// tell tells the listener what changed in s. The caller doesn't hold its lock.
func (x *Index) tell(s *shard) {
	if x.listener.listening() {
		s.changes.tell(&x.listener, &s.mu)
	}
}

// note remembers a change for the listener. The caller holds s's lock.
func (x *Index) note(s *shard, kind ChangeKind, kept riemann.Fields, stored []byte) {
	if x.listener.listening() {
		s.changes.note(kind, kept, stored)
	}
}
