package index

import (
	"sync"
	"unsafe"

	"golang.org/x/sys/cpu"

	"darboux/handlers/riemann"
)

// shard is a part of the index with a lock of its own, which guards all of it.
type shard struct {
	busy
	_ cpu.CacheLinePad

	index  *Index
	pages  *pages
	keys   table // of keySlot
	ids    ids
	events slab
	terms  terms

	// births is what entries get as born. It grows when a search lets go of the
	// lock within the shard: the entries that it is to see were born before.
	births uint64

	// See pin.go.
	manyPins map[ref]uint32 // counts of pins that have no room in their entry
	prepaid  int64          // bytes of stream memory that are taken for an orphan to be
	lacking  int64          // bytes that were not to be had for one; see takeLacking

	changes changes
	compact compaction
	touched uint64 // see batch.touch
}

// busy is what every update changes. It goes from core to core with the lock, so it is one
// cache line, and nothing is in that which is looked at without the lock.
type busy struct {
	mu     sync.Mutex
	counts Stats
}

// What comes behind Updated changes more rarely. In front of an object of a shard's size
// the allocator has a word of its own, at the beginning of a cache line.
const _ = uint(cacheLine - unsafe.Sizeof(uintptr(0)) - unsafe.Offsetof(busy{}.counts) - unsafe.Offsetof(Stats{}.Updated) - unsafe.Sizeof(Stats{}.Updated))

// keySlot is a slot of the table of keys.
type keySlot struct {
	hash uint32
	at   ref // where the entry is
}

const keySlotShift = 3

func newShard(x *Index) *shard {
	s := &shard{
		index:  x,
		pages:  x.pages,
		events: newSlab(x.pages),
	}
	s.keys.begin(x.pages, keySlotShift)
	s.ids.begin(x.pages)
	s.terms.begin(x.pages)
	return s
}

func (s *shard) entry(r ref) *entry { return (*entry)(s.pages.at(r)) }

func keySlotAt(p *probe) *keySlot { return (*keySlot)(unsafe.Pointer(p.slot())) }

// find looks for a key, nil being a missing host or service. The entry is nil if
// there is none.
func (s *shard) find(hash uint32, host, service []byte) (probe, *entry) {
	p := s.keys.probe(hash)
	for ; p.more(); p.next() {
		k := keySlotAt(&p)
		if k.hash != hash {
			continue
		}
		if x := s.entry(k.at); x.hasKey(host, service) {
			return p, x
		}
	}
	return p, nil
}

// locate is the slot of an entry that is there.
func (s *shard) locate(hash uint32, at ref) probe {
	p := s.keys.probe(hash)
	for ; p.more(); p.next() {
		if keySlotAt(&p).at == at {
			return p
		}
	}
	panic("BUG: an entry is not in the table of keys")
}

func (x *entry) hasKey(host, service []byte) bool {
	const both = riemann.HasHost | riemann.HasService
	var has riemann.Fields
	if host != nil {
		has |= riemann.HasHost
	}
	if service != nil {
		has |= riemann.HasService
	}
	return x.kept&both == has && string(x.host()) == string(host) && string(x.service()) == string(service)
}

// write is an event to be put into a shard, with all that can be prepared
// without the shard's lock.
type write struct {
	event    *riemann.Event // as received
	hash     keyHash
	stored   []byte
	spans    spans // of stored
	kept     riemann.Fields
	at       int64 // its time, in microseconds of the Unix epoch
	deadline int64
	delete   bool // its state is "expired"
}

// apply takes an event and reports whether it could. If it could not because bytes are
// lacking to keep an old version, the caller takes their number, lets go of the lock, calls
// streams.makeRoom and tries again.
func (s *shard) apply(w *write) bool {
	host, service := w.event.HostBytes(), w.event.ServiceBytes()
	p, x := s.find(w.hash.slot, host, service)
	if x != nil && s.index.cfg.NewestWins && s.isNewer(x, w.at) {
		s.counts.Older++
		return true
	}
	if x != nil && x.pinned() {
		if !s.roomForOrphan(x) {
			return false
		}
		defer s.settleOrphan()
	}
	return s.applyTo(p, x, w)
}

// applyTo takes an event for a key whose entry is x; nil if there is none.
func (s *shard) applyTo(p probe, x *entry, w *write) bool {
	switch {
	case w.delete:
		if x != nil {
			s.remove(p, x, &w.hash)
			s.counts.Deleted++
		}
		s.index.note(s, Deleted, w.kept, w.stored)
		return true
	case x == nil:
		if !s.insert(w) {
			return false
		}
		s.counts.Inserted++
	default:
		if !s.update(p, x, w) {
			return false
		}
		s.counts.Updated++
	}
	s.index.note(s, Inserted, w.kept, w.stored)
	return true
}

func (s *shard) isNewer(x *entry, at int64) bool {
	var e riemann.Event
	x.view(&e)
	return e.TimeMicros > at
}

// insert makes an entry for a new key, unless a limit is reached.
func (s *shard) insert(w *write) bool {
	if !s.admitsEntry() {
		return false
	}
	n := entrySize + len(w.stored)
	if !s.admitsChunk(n) || !s.admitsTerms() {
		s.index.entries.Add(-1)
		return false
	}
	x, at := s.takeEntry(n)
	x.setBorn(s.births)
	x.id = s.ids.take(at, w.deadline)
	k := (*keySlot)(unsafe.Pointer(s.keys.insert(w.hash.slot)))
	k.at = at
	s.put(x, w)
	s.addTerms(x, w)
	return true
}

// takeEntry takes the memory of an entry of n bytes, header included.
func (s *shard) takeEntry(n int) (*entry, ref) {
	at := s.events.take(n)
	x := s.entry(at)
	*x = entry{class: classFor(n)}
	if x.class == ownRun {
		x.setRunPages(pagesFor(n))
	}
	return x, at
}

func (s *shard) giveEntry(x *entry, at ref) {
	if x.class == ownRun {
		s.events.giveRun(at, x.runPages())
		return
	}
	s.events.giveClass(at, x.class)
}

// put writes an event into an entry that has room for it.
func (s *shard) put(x *entry, w *write) {
	s.counts.StoredBytes += int64(len(w.stored)) - int64(x.size)
	x.size, x.kept = uint32(len(w.stored)), w.kept
	if x.class != ownRun {
		x.spans = w.spans
	}
	copy(x.stored(), w.stored)
}

// update replaces the event of an entry, unless a limit is reached.
func (s *shard) update(p probe, x *entry, w *write) bool {
	n := entrySize + len(w.stored)
	move := x.pinned() || !x.suits(n) && !s.mustStay(x, n)
	if move && !s.admitsChunk(n) {
		return false
	}
	state, tags := s.changedTerms(x, w)
	if (state || tags) && !s.admitsTerms() {
		return false
	}
	if state {
		s.changeState(x, w)
	}
	if tags {
		s.removeTags(x)
	}
	if move {
		x = s.moveEntry(p, x, n)
	}
	s.put(x, w)
	s.ids.setDeadline(x.id, w.deadline)
	if tags {
		s.addTags(x)
	}
	return true
}

// mustStay reports whether an entry of n bytes, header included, has to do with x's chunk,
// which is too large for it, because there is no memory for another.
func (s *shard) mustStay(x *entry, n int) bool { return n <= x.room()+entrySize && !s.hasChunk(n) }

// suits reports whether an entry of n bytes, header included, fits into x's chunk
// without wasting much of it.
func (x *entry) suits(n int) bool {
	class := classFor(n)
	if class == ownRun || x.class == ownRun {
		if class != x.class {
			return false
		}
		have, want := x.runPages(), pagesFor(n)
		return want <= have && 4*want >= 3*have
	}
	return class == x.class || n <= x.class.size() && 4*n >= 3*x.class.size()
}

// moveEntry gives x another chunk, for n bytes. What was stored is lost.
func (s *shard) moveEntry(p probe, old *entry, n int) *entry {
	at := keySlotAt(&p).at
	x, to := s.takeEntry(n)
	x.id, x.size = old.id, old.size
	x.bornHigh, x.bornLow = old.bornHigh, old.bornLow
	keySlotAt(&p).at = to
	s.ids.setRef(x.id, to)
	s.leave(old, at)
	return x
}

// leave gives back the chunk of an entry that has moved or is deleted, or leaves it to
// its pins.
func (s *shard) leave(x *entry, at ref) {
	if x.pinned() {
		s.orphan(x)
		return
	}
	s.giveEntry(x, at)
}

// remove takes an entry out; p is its slot.
func (s *shard) remove(p probe, x *entry, hash *keyHash) {
	s.removeTerms(x, hash)
	at := keySlotAt(&p).at
	s.keys.remove(p)
	s.ids.give(x.id)
	s.counts.StoredBytes -= int64(x.size)
	s.leave(x, at)
	s.index.entries.Add(-1)
	if s.ids.live == 0 && s.ids.used > idsPerPart {
		s.reset()
	}
}

// reset gives back all that an empty shard still holds.
func (s *shard) reset() {
	s.keys.reset()
	s.ids.reset()
	s.terms.reset()
}
