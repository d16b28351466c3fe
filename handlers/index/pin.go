package index

import "darboux/handlers/riemann"

// An entry may be pinned: somebody reads its bytes without the shard's lock. As long as
// it is, its chunk stays as it is and where it is. An update then writes to another
// chunk, a deletion leaves the chunk behind, and in both cases the old one is an orphan:
// nothing leads to it any more but the pins, and the last of them frees it.
//
// The pins are counted in the entry's header, in the bits of kept that are no fields;
// counts that have no room there are in shard.manyPins.
const (
	pinShift = 13
	pinOne   = riemann.Fields(1) << pinShift
	pinBits  = 7 * pinOne // set: the count is in manyPins

	mostPins = 6 // that are counted in the header

	// orphanID is the id of an orphan.
	orphanID = ^uint32(0)
)

var _ = [1]struct{}{}[riemann.IsStored<<1-pinOne]

// fields is what must be known beside the stored form; see riemann.Event.Kept.
func (x *entry) fields() riemann.Fields { return x.kept &^ pinBits }

func (x *entry) pinned() bool { return x.kept&pinBits != 0 }

// pins is how many pins an entry has.
func (s *shard) pins(x *entry, at ref) int {
	if x.kept&pinBits == pinBits {
		return int(s.manyPins[at])
	}
	return int(x.kept & pinBits >> pinShift)
}

// pin adds a pin to the entry at that place.
func (s *shard) pin(x *entry, at ref) {
	s.counts.Pins++
	switch n := s.pins(x, at); {
	case n < mostPins:
		x.kept += pinOne
	case n == mostPins:
		if s.manyPins == nil {
			s.manyPins = map[ref]uint32{}
		}
		x.kept |= pinBits
		s.manyPins[at] = mostPins + 1
		s.index.streams.add(manyPinsBytes)
	default:
		s.manyPins[at]++
	}
}

// manyPinsBytes is about the memory that an entry of manyPins takes.
const manyPinsBytes = 32

// unpin takes a pin away, and with the last one what was only kept for it.
func (s *shard) unpin(at ref) {
	x := s.entry(at)
	s.counts.Pins--
	switch n := s.pins(x, at); {
	case n == 0:
		panic("BUG: an entry is unpinned that is not pinned")
	case n == mostPins+1:
		delete(s.manyPins, at)
		x.kept = x.fields() | mostPins<<pinShift
		s.index.streams.add(-manyPinsBytes)
	case n > mostPins:
		s.manyPins[at]--
	default:
		x.kept -= pinOne
	}
	if x.pinned() {
		return
	}
	switch {
	case x.id == orphanID:
		s.dropOrphan(x, at)
	case x.class != ownRun && s.events.span(s.events.spanOf(at, x.class)).list == emptyingSpan:
		s.moveWhole(at) // it was left behind when its span was emptied
	}
}

// orphan leaves the chunk of an entry to its pins. roomForOrphan has taken the room.
func (s *shard) orphan(x *entry) {
	x.id = orphanID
	s.counts.OrphanBytes += x.chunkBytes()
	s.prepaid = 0
}

func (s *shard) dropOrphan(x *entry, at ref) {
	n := x.chunkBytes()
	s.counts.OrphanBytes -= n
	s.index.streams.addOrphan(-n)
	s.giveEntry(x, at)
}

// roomForOrphan takes room to leave the chunk of a pinned entry behind. If there is none
// it returns false, and takeLacking says how much it wants.
func (s *shard) roomForOrphan(x *entry) bool {
	n := x.chunkBytes()
	if !s.index.streams.tryOrphan(n) {
		s.lacking = n
		return false
	}
	s.prepaid = n
	return true
}

// takeLacking is how many bytes roomForOrphan wanted and could not have; 0 is none. It says
// so once.
func (s *shard) takeLacking() (n int64) {
	n, s.lacking = s.lacking, 0
	return n
}

// settleOrphan gives back the room that was taken for an orphan that did not come about.
func (s *shard) settleOrphan() {
	if s.prepaid > 0 {
		s.index.streams.addOrphan(-s.prepaid)
		s.prepaid = 0
	}
}

// chunkBytes is the memory that the entry takes.
func (x *entry) chunkBytes() int64 {
	if x.class == ownRun {
		return int64(x.runPages()) << pageShift
	}
	return int64(x.class.size())
}
