package index

import (
	"sync/atomic"
	"unsafe"

	"darboux/handlers/riemann"
)

// batchEvents is how many events are worked together. It bounds the memory of a
// batch; more of them would not let more cache misses overlap.
const batchEvents = 64

// batch is the scratch memory of one Apply.
type batch struct {
	writes [batchEvents]write
	n      int
	buf    []byte // stored forms
	ends   [batchEvents]int
	view   riemann.Event // of a stored form

	// Which of the writes are for the same shard: for each shard the first,
	// for each write the next, both plus 1.
	first [mostShards]uint8
	next  [batchEvents]uint8

	// See touch.
	found   [batchEvents]slot
	terms   [batchEvents]term
	touched atomic.Uint64
}

// mostScratch is the most memory that a batch keeps for its next use.
const mostScratch = 1 << 20

// Apply implements Store. Events are worked in batches: first all that needs no
// lock is prepared, then their places in memory are touched, so that the cache
// misses of many events overlap, then the shards take what is theirs.
func (x *Index) Apply(events []riemann.Event, now int64, refused []bool) int {
	if len(refused) < len(events) {
		panic("BUG: there is no room to tell which events were refused")
	}
	b := x.batches.Get().(*batch)
	used := min(len(events), batchEvents)
	n := 0
	for len(events) > 0 {
		k := min(len(events), batchEvents)
		b.prepare(x, events[:k], now)
		if k > 1 && !raceBuild {
			b.touch(x)
		}
		n += b.apply(x, refused)
		events, refused = events[k:], refused[k:]
	}
	b.forget(used)
	x.batches.Put(b)
	return n
}

// forget lets go of the events, and of a large buffer, before the batch is kept
// for its next use.
func (b *batch) forget(used int) {
	clear(b.writes[:used])
	b.view = riemann.Event{}
	if cap(b.buf) > mostScratch {
		b.buf = nil
	}
}

// prepare makes a write of each event.
func (b *batch) prepare(x *Index, events []riemann.Event, now int64) {
	b.n = len(events)
	b.buf = b.buf[:0]
	ttl := x.cfg.DefaultTTL
	for i := range events {
		b.buf = events[i].AppendStored(b.buf, now, ttl)
		b.ends[i] = len(b.buf)
	}
	start := 0
	for i := range events {
		e, w := &events[i], &b.writes[i]
		w.event = e
		w.stored = b.buf[start:b.ends[i]]
		start = b.ends[i]
		w.hash = x.hasher.key(e.HostBytes(), e.ServiceBytes())
		w.kept = e.Kept()
		w.deadline = e.Deadline(now, ttl)
		w.delete = e.IsExpired()
		if x.cfg.NewestWins {
			w.at = e.At(now)
		}
		if !e.RawIsPrefix() {
			e = b.viewOf(w)
		}
		w.setSpans(e)
	}
}

// viewOf is the view of w's stored form, where its spans must be taken from that.
func (b *batch) viewOf(w *write) *riemann.Event {
	if err := b.view.ParseStored(w.stored, w.kept); err != nil {
		panic("BUG: a stored form is damaged: " + err.Error())
	}
	return &b.view
}

// setSpans notes where things stand, if entries can: spans of larger events are
// not looked at.
func (w *write) setSpans(e *riemann.Event) {
	if entrySize+len(w.stored) > maxChunk {
		w.spans = spans{tagsSpan: {len: noTagsSpan}}
		return
	}
	w.spans = spans{
		hostSpan:    shortSpan{uint16(e.Host.Off), uint16(e.Host.Len)},
		serviceSpan: shortSpan{uint16(e.Service.Off), uint16(e.Service.Len)},
		stateSpan:   shortSpan{uint16(e.State.Off), uint16(e.State.Len)},
		tagsSpan:    tagsSpanOf(e),
	}
}

// touch loads the slots of all writes, then the entries that they lead to, then
// the deadlines of these; of a new key it loads what its host's term leads to. It
// takes no lock: what it reads may be about to change, and is used for nothing but
// to have it in the cache.
func (b *batch) touch(x *Index) {
	for i := range b.n {
		h := &b.writes[i].hash
		b.found[i] = x.shards[x.shardOf(h)].keys.touch(h.slot)
	}
	sum := uint64(0)
	var entries [batchEvents]unsafe.Pointer
	for i := range b.n {
		w := &b.writes[i]
		s := x.shards[x.shardOf(&w.hash)]
		if b.found[i].hash != w.hash.slot {
			b.found[i] = s.keys.touchOn(w.hash.slot)
		}
		entries[i] = x.pages.hint(ref(b.found[i].used))
		if entries[i] == nil {
			b.terms[i] = s.terms.touchTerm(hostField, x.hasher.term(w.hash.host))
			continue
		}
		sum += touchEntry(entries[i], len(w.stored)+entrySize)
	}
	for i := range b.n {
		s := x.shards[x.shardOf(&b.writes[i].hash)]
		if entries[i] != nil {
			sum += s.ids.touch((*entry)(entries[i]).id)
			continue
		}
		sum += touchEntry(x.pages.hint(b.terms[i].chunk()), cacheLine)
		b.terms[i].ids = s.ids.touchRef(b.terms[i].witness.id())
	}
	for i := range b.n {
		if entries[i] == nil {
			sum += touchEntry(x.pages.hint(b.terms[i].ids), 2*cacheLine)
		}
	}
	b.touched.Store(sum) // so that the loads are not left out
}

// touchOn goes on from where touch was, a few slots.
func (t *table) touchOn(hash uint32) slot {
	p := t.probe(hash)
	for range 8 {
		if s := *p.slot(); s.hash == hash {
			return s
		}
		p.next()
	}
	return slot{}
}

const (
	// cacheLine is the unit in which memory comes into a core's cache.
	cacheLine = 64

	// mostTouched is how much of an entry is touched: what ordinary ones have.
	mostTouched = 6 * cacheLine
)

// hint is where r points to, or nil: a slot that was read without the lock may
// have been any bytes by then. So much is sure that mostTouched bytes can be read.
func (p *pages) hint(r ref) unsafe.Pointer {
	base := p.bases[r/unitsPerArena]
	if r == 0 || base == nil || r%unitsPerArena > unitsPerArena-mostTouched>>unitShift {
		return nil
	}
	return unsafe.Add(base, uintptr(r%unitsPerArena)<<unitShift)
}

// touch loads the cache lines of n bytes at r, 0 being none. What stands behind the end of
// what is there may be someone else's: the race detector must not see it.
func (p *pages) touch(r ref, n int) uint64 {
	if raceBuild {
		return 0
	}
	return touchEntry(p.hint(r), n)
}

// touchEntry loads the cache lines of n bytes.
func touchEntry(at unsafe.Pointer, n int) (sum uint64) {
	if at == nil {
		return 0
	}
	n = min(n, mostTouched)
	for off := 0; off < n; off += cacheLine {
		sum += *(*uint64)(unsafe.Add(at, off))
	}
	return sum + *(*uint64)(unsafe.Add(at, n-8))
}

// apply gives the writes to their shards, each shard's together, in their order.
// Shards that someone else is in come last: mostly they are free by then.
func (b *batch) apply(x *Index, refused []bool) int {
	for i := b.n - 1; i >= 0; i-- {
		first := &b.first[x.shardOf(&b.writes[i].hash)]
		b.next[i] = *first
		*first = uint8(i + 1)
	}
	n := 0
	for _, wait := range [...]bool{false, true} {
		for i := range b.n {
			shard := x.shardOf(&b.writes[i].hash)
			s, first := x.shards[shard], &b.first[shard]
			if *first == 0 || !s.enter(wait) {
				continue
			}
			n += b.applyShard(s, *first, refused)
			s.mu.Unlock()
			*first = 0
			x.tell(s)
		}
	}
	return n
}

// enter takes the shard's lock, if it is free or the caller waits for it.
func (s *shard) enter(wait bool) bool {
	if wait {
		s.mu.Lock()
		return true
	}
	return s.mu.TryLock()
}

func (b *batch) applyShard(s *shard, first uint8, refused []bool) (n int) {
	for i := first; i != 0; i = b.next[i-1] {
		taken := s.apply(&b.writes[i-1])
		for !taken {
			lacking := s.takeLacking()
			if lacking == 0 {
				break
			}
			s.mu.Unlock()
			s.index.streams.makeRoom(lacking)
			s.mu.Lock()
			taken = s.apply(&b.writes[i-1])
		}
		refused[i-1] = !taken
		if !taken {
			n++
		}
	}
	return n
}
