package index

// mostRun is the most bytes of an entry, header included: a run lies within an
// arena.
const mostRun = 1 << arenaShift

// admitsEntry counts one more entry if the limit of entries allows it.
func (s *shard) admitsEntry() bool {
	x := s.index
	if s.ids.live >= mostIDs-1 {
		s.counts.RefusedEntries++
		return x.refuse("entries", Limit{"the room of a shard,", mostIDs - 1})
	}
	if x.cfg.Entries.exceededBy(x.entries.Add(1)) {
		x.entries.Add(-1)
		s.counts.RefusedEntries++
		return x.refuse("entries", x.cfg.Entries)
	}
	return true
}

// admitsChunk reports whether an entry of n bytes, header included, finds room
// within the limit of memory. If not, it looks whether emptying a span helps.
func (s *shard) admitsChunk(n int) bool {
	if s.hasChunk(n) || s.compactEvents(1) > 0 && s.hasChunk(n) {
		return true
	}
	return s.refuseMemory()
}

func (s *shard) refuseMemory() bool {
	s.counts.RefusedMemory++
	limit := s.index.cfg.Memory
	if limit.Value == 0 {
		limit = Limit{"the reach of its addresses,", MaxMemory}
	}
	return s.index.refuse("bytes", limit)
}

func (s *shard) hasChunk(n int) bool {
	class := classFor(n)
	if class == ownRun {
		return n <= mostRun && s.pages.admits(pagesFor(n), s.index.softPages+s.index.orphanPages())
	}
	return s.events.classes[class].free > 0 || s.pages.admits(class.pages(), s.index.softPages+s.index.orphanPages())
}

// orphanPages is how many pages orphans make up: they are no part of the index's memory.
func (x *Index) orphanPages() int64 { return x.streams.orphans.Load() >> pageShift }

// admitsTerms reports whether postings may grow. They are no large part of the
// memory, so they are only asked for when the reserve for them is used up.
func (s *shard) admitsTerms() bool {
	if s.pages.admits(0, s.index.hardPages+s.index.orphanPages()) {
		return true
	}
	return s.refuseMemory()
}
