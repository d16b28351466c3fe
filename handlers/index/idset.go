package index

import "math/bits"

// idSet is a set of ids of a shard, those from first on up to some end, a bit for each.
type idSet struct {
	first uint32 // a multiple of a group's ids
	words []uint64
}

// begin empties the set and gives it room for the ids from first up to end, or a few more.
func (s *idSet) begin(first, end uint32) {
	s.first = first
	size := (int(end-first) + 63) / 64
	if cap(s.words) < size {
		s.words = make([]uint64, size)
		return
	}
	s.words = s.words[:size]
	clear(s.words)
}

// end is where the ids end that have room in the set.
func (s *idSet) end() uint32 { return s.first + uint32(len(s.words))*64 }

// add puts an id into the set, if it has room for it.
func (s *idSet) add(id uint32) {
	if i := int(int64(id)-int64(s.first)) >> 6; i >= 0 && i < len(s.words) {
		s.words[i] |= 1 << (id % 64)
	}
}

// next is the first id of the set that is not less than from, which is not less than first.
func (s *idSet) next(from uint32) (id uint32, ok bool) {
	i := int(from-s.first) / 64
	if i >= len(s.words) {
		return 0, false
	}
	word := s.words[i] >> (from % 64) << (from % 64)
	for word == 0 {
		if i++; i == len(s.words) {
			return 0, false
		}
		word = s.words[i]
	}
	return s.first + uint32(i)*64 + uint32(bits.TrailingZeros64(word)), true
}

// addTo puts the ids of a posting from from up to to into a set, and reports whether
// there are more behind them. Both bounds are multiples of a group's ids.
func (s *slab) addTo(set *idSet, p *posting, from, to uint32) (more bool) {
	if p.count&manyForm != 0 {
		return s.addManyTo(set, p, from, to)
	}
	for id, ok := s.next(p, from); ok; id, ok = s.next(p, id+1) {
		if id >= to {
			return true
		}
		set.add(id)
	}
	return false
}

func (s *slab) addManyTo(set *idSet, p *posting, from, to uint32) (more bool) {
	groups := s.groups(p)
	i, _ := findGroup(groups, from)
	for ; i < len(groups); i++ {
		first := uint32(groups[i].high) << groupShift
		if first >= to {
			return true
		}
		s.addGroupTo(set, &groups[i], first)
	}
	return false
}

// addGroupTo puts the ids of a group into a set; first is the lowest that it could have.
func (s *slab) addGroupTo(set *idSet, g *group, first uint32) {
	switch n := g.len(); {
	case g.count&bitmapForm != 0:
		if first < set.first || first >= set.end() {
			return
		}
		words := set.words[(first-set.first)/64:]
		for i, word := range s.bitmap(g)[:min(bitmapWords, len(words))] {
			words[i] |= word
		}
	case n == 1:
		set.add(first + uint32(g.lows))
	default:
		for _, low := range sliceAt[uint16](s, g.lows, n) {
			set.add(first + uint32(low))
		}
	}
}
