package index

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
	s.counts.RefusedMemory++
	return s.index.refuse("bytes", s.index.cfg.Memory)
}

func (s *shard) hasChunk(n int) bool {
	class := classFor(n)
	if class == ownRun {
		return n < 1<<arenaShift && s.pages.admits(pagesFor(n), s.index.softPages)
	}
	return s.events.classes[class].free > 0 || s.pages.admits(class.pages(), s.index.softPages)
}

// admitsTerms reports whether postings may grow. They are no large part of the
// memory, so they are only asked for when the reserve for them is used up.
func (s *shard) admitsTerms() bool {
	if s.pages.admits(0, s.index.hardPages) {
		return true
	}
	s.counts.RefusedMemory++
	return s.index.refuse("bytes", s.index.cfg.Memory)
}
