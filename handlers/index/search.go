package index

import "darboux/handlers/riemann"

// holdIDs is how many ids a search looks at before it lets go of a shard's lock:
// some microseconds' work.
const holdIDs = 64

// Search implements Store.
func (x *Index) Search(q Matcher, cur *Cursor, dst []byte, limit int) []byte {
	budget, limit := cur.budget(), orNone(limit)
	for cur.shard < len(x.shards) && budget > 0 && len(dst) < limit {
		dst = x.shards[cur.shard].search(q, cur, dst, limit, &budget)
	}
	cur.Done = cur.shard == len(x.shards)
	return dst
}

// search looks at the next ids, in their order: that is one that stays, whatever
// is inserted, moved or deleted between two calls. A key that was deleted and
// came again may have an id further on, but was born too late to be looked at.
func (s *shard) search(q Matcher, cur *Cursor, dst []byte, limit int, budget *int) []byte {
	s.mu.Lock()
	defer s.mu.Unlock() // q may panic
	end := min(cur.next+holdIDs, uint64(s.ids.used))
	for cur.next < end && *budget > 0 && len(dst) < limit {
		at := s.ids.ref(uint32(cur.next))
		cur.next++
		if at == 0 {
			continue
		}
		x := s.entry(at)
		if cur.inside && x.born() >= cur.born {
			continue
		}
		*budget--
		cur.Looked++
		x.view(&cur.view)
		if q.Match(&cur.view) {
			cur.Matched++
			dst = riemann.AppendEventField(dst, x.stored())
		}
	}
	switch {
	case cur.next >= uint64(s.ids.used):
		cur.leaveShard()
	case !cur.inside:
		cur.inside, cur.born = true, s.nextBirths()
	}
	return dst
}

// nextBirths makes entries that are born from now on distinct from all before,
// and returns what they get as born.
func (s *shard) nextBirths() uint64 {
	s.births++
	if s.births > maxBorn {
		// After so many searches all are made equal again. One that is under way
		// may come upon a key twice that is deleted and inserted meanwhile.
		s.births = 1
		for id := range s.ids.used {
			if at := s.ids.ref(id); at != 0 {
				s.entry(at).setBorn(0)
			}
		}
	}
	return s.births
}
