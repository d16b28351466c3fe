package index

import (
	"math/bits"
	"slices"
	"unsafe"
)

// A group has those ids of a posting of many whose high bits are the same, as
// 12-bit numbers: one of them in the group itself, up to 128 as a sorted array,
// more as a bitmap. A change then moves a quarter of a kilobyte at most.
type group struct {
	high  uint16 // the ids' high bits
	count uint16 // ids in it, and bitmapForm
	lows  ref
}

const (
	groupShift = 12
	groupIDs   = 1 << groupShift
	lowMask    = groupIDs - 1

	bitmapForm  = 1 << 15
	bitmapWords = groupIDs / 64
	bitmapBytes = groupIDs / 8

	// See mostFew. A bitmap may take twice the memory of a sorted array, but in
	// one nothing is searched for or moved.
	mostSorted   = 128
	fewestBitmap = 96

	// dirHead stands before the groups of a directory: their number.
	dirHead = 8
)

func (g *group) len() int { return int(g.count &^ bitmapForm) }

// dirBytes is the size of the chunk of a directory of n groups.
func dirBytes(n int) int { return dirHead + roomFor(n)*int(unsafe.Sizeof(group{})) }

func (s *slab) dirLen(dir ref) *uint32 { return (*uint32)(s.pages.at(dir)) }

// groups are the groups of a posting of many.
func (s *slab) groups(p *posting) []group {
	n := *s.dirLen(p.ids)
	return unsafe.Slice((*group)(unsafe.Add(s.pages.at(p.ids), dirHead)), n)
}

// find is the index of the first group that is not before id's, and whether it is
// that group. If a posting has most entries, the first guess is right.
func findGroup(groups []group, id uint32) (i int, found bool) {
	high := uint16(id >> groupShift)
	if int(high) < len(groups) && groups[high].high == high {
		return int(high), true
	}
	return slices.BinarySearchFunc(groups, high, func(g group, high uint16) int { return int(g.high) - int(high) })
}

func (s *slab) addMany(p *posting, id uint32) {
	groups := s.groups(p)
	i, found := findGroup(groups, id)
	if found {
		if s.addLow(&groups[i], id&lowMask) {
			p.count++
		}
		return
	}
	g := group{high: uint16(id >> groupShift), count: 1, lows: ref(id & lowMask)}
	p.ids = insertAt(s, p.ids, dirHead, len(groups), i, g)
	*s.dirLen(p.ids)++
	p.count++
}

func (s *slab) removeMany(p *posting, id uint32) bool {
	groups := s.groups(p)
	i, found := findGroup(groups, id)
	if !found || !s.removeLow(&groups[i], id&lowMask) {
		return false
	}
	p.count--
	if groups[i].count == 0 {
		p.ids = deleteAt[group](s, p.ids, dirHead, len(groups), i)
		*s.dirLen(p.ids)--
	}
	return true
}

func (s *slab) nextMany(p *posting, from uint32) (id uint32, ok bool) {
	groups := s.groups(p)
	i, found := findGroup(groups, from)
	if found {
		if low, ok := s.nextLow(&groups[i], from&lowMask); ok {
			return from&^lowMask | low, true
		}
		i++
	}
	if i == len(groups) {
		return 0, false
	}
	low, _ := s.nextLow(&groups[i], 0)
	return uint32(groups[i].high)<<groupShift | low, true
}

// dropMany frees the chunks of a posting of many.
func (s *slab) dropMany(p *posting) {
	groups := s.groups(p)
	for i := range groups {
		s.dropLows(&groups[i])
	}
	s.give(p.ids, dirBytes(len(groups)))
}

func (s *slab) dropLows(g *group) {
	switch {
	case g.count&bitmapForm != 0:
		s.give(g.lows, bitmapBytes)
	case g.count > 1:
		s.give(g.lows, roomFor(g.len())*2)
	}
}

func (s *slab) bitmap(g *group) *[bitmapWords]uint64 {
	return (*[bitmapWords]uint64)(s.pages.at(g.lows))
}

// addLow puts low into the group and reports whether it was not there.
func (s *slab) addLow(g *group, low uint32) bool {
	if g.count&bitmapForm != 0 {
		return s.addBit(g, low)
	}
	n := g.len()
	if n == 1 {
		return s.addSecondLow(g, uint16(low))
	}
	i, found := search(sliceAt[uint16](s, g.lows, n), uint16(low))
	if found {
		return false
	}
	if n == mostSorted {
		s.toBitmap(g)
		return s.addBit(g, low)
	}
	g.lows = insertAt(s, g.lows, 0, n, i, uint16(low))
	g.count++
	return true
}

func (s *slab) addBit(g *group, low uint32) bool {
	word, bit := &s.bitmap(g)[low/64], uint64(1)<<(low%64)
	if *word&bit != 0 {
		return false
	}
	*word |= bit
	g.count++
	return true
}

func (s *slab) addSecondLow(g *group, low uint16) bool {
	first := uint16(g.lows)
	if first == low {
		return false
	}
	g.lows = s.take(roomFor(2) * 2)
	g.count = 2
	two := sliceAt[uint16](s, g.lows, 2)
	two[0], two[1] = min(first, low), max(first, low)
	return true
}

// removeLow takes low out of the group and reports whether it was there.
func (s *slab) removeLow(g *group, low uint32) bool {
	if g.count&bitmapForm != 0 {
		return s.removeBit(g, low)
	}
	n := g.len()
	if n == 1 {
		if uint32(g.lows) != low {
			return false
		}
		g.count = 0
		return true
	}
	i, found := search(sliceAt[uint16](s, g.lows, n), uint16(low))
	if !found {
		return false
	}
	g.lows = deleteAt[uint16](s, g.lows, 0, n, i)
	g.count--
	if n == 2 {
		last := sliceAt[uint16](s, g.lows, 1)[0]
		s.give(g.lows, roomFor(1)*2)
		g.lows = ref(last)
	}
	return true
}

func (s *slab) removeBit(g *group, low uint32) bool {
	word, bit := &s.bitmap(g)[low/64], uint64(1)<<(low%64)
	if *word&bit == 0 {
		return false
	}
	*word &^= bit
	g.count--
	if g.len() == fewestBitmap {
		s.toSorted(g)
	}
	return true
}

// nextLow is the first number in the group that is not less than from.
func (s *slab) nextLow(g *group, from uint32) (low uint32, ok bool) {
	n := g.len()
	switch {
	case g.count&bitmapForm != 0:
		return nextBit(s.bitmap(g), from)
	case n == 1:
		return uint32(g.lows), uint32(g.lows) >= from
	}
	all := sliceAt[uint16](s, g.lows, n)
	i, _ := search(all, uint16(from))
	if i == n {
		return 0, false
	}
	return uint32(all[i]), true
}

func nextBit(words *[bitmapWords]uint64, from uint32) (bit uint32, ok bool) {
	i := from / 64
	word := words[i] >> (from % 64) << (from % 64)
	for word == 0 {
		if i++; i == bitmapWords {
			return 0, false
		}
		word = words[i]
	}
	return i*64 + uint32(bits.TrailingZeros64(word)), true
}

func (s *slab) toBitmap(g *group) {
	n := g.len()
	sorted := g.lows
	g.lows = s.take(bitmapBytes)
	words := s.bitmap(g)
	*words = [bitmapWords]uint64{}
	for _, low := range sliceAt[uint16](s, sorted, n) {
		words[low/64] |= 1 << (low % 64)
	}
	s.give(sorted, roomFor(n)*2)
	g.count |= bitmapForm
}

func (s *slab) toSorted(g *group) {
	n := g.len()
	sorted := s.take(roomFor(n) * 2)
	lows := sliceAt[uint16](s, sorted, n)
	from := uint32(0)
	for i := range lows {
		low, _ := nextBit(s.bitmap(g), from)
		lows[i] = uint16(low)
		from = low + 1
	}
	s.give(g.lows, bitmapBytes)
	*g = group{high: g.high, count: uint16(n), lows: sorted}
}
