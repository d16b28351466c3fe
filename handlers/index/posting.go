package index

import (
	"math/bits"
	"unsafe"
)

// A posting is the set of the ids of a shard's entries that have a term. Ids come
// out of it in order, so a search goes on behind the id where it stopped, however
// the set changed meanwhile. It has one of three forms:
//
//	one id    in ids itself
//	few       ids is a chunk with the sorted ids
//	many      ids is a chunk with a directory of groups, see group.go
//
// The size of each chunk follows from the number of what is in it: nothing more
// is kept about it.
type posting struct {
	count uint32 // ids in it, and manyForm
	ids   ref
}

const (
	manyForm = 1 << 31

	// With mostFew ids a posting takes its other form, and goes back with
	// fewestMany: so that it doesn't do so with every change.
	mostFew    = 256
	fewestMany = 128
)

func (p *posting) len() int { return int(p.count &^ manyForm) }

// roomFor is the number of elements that a chunk for n has room for: 4, or the
// next of 6, 8, 12, 16, 24 and so on.
func roomFor(n int) int {
	if n <= 4 {
		return 4
	}
	k := bits.Len(uint(n - 1))
	if n <= 3<<(k-2) {
		return 3 << (k - 2)
	}
	return 1 << k
}

// sliceAt is the n elements at r.
func sliceAt[T any](s *slab, r ref, n int) []T {
	return unsafe.Slice((*T)(s.pages.at(r)), n)
}

// search is slices.BinarySearch without branches that the processor would have to
// guess.
func search[T uint16 | uint32](all []T, v T) (i int, found bool) {
	for n := len(all); n > 0; {
		half := (n + 1) / 2
		if all[i+half-1] < v {
			i += half
		}
		n -= half
	}
	return i, i < len(all) && all[i] == v
}

// insertAt makes a chunk of n elements one of n+1, with v as the i-th. head is
// the size of what stands before the elements.
func insertAt[T any](s *slab, r ref, head, n, i int, v T) ref {
	size := int(unsafe.Sizeof(v))
	if room := roomFor(n); room != roomFor(n+1) {
		to := s.take(head + roomFor(n+1)*size)
		copy(sliceAt[byte](s, to, head+n*size), sliceAt[byte](s, r, head+n*size))
		s.give(r, head+room*size)
		r = to
	}
	all := unsafe.Slice((*T)(unsafe.Add(s.pages.at(r), head)), n+1)
	copy(all[i+1:], all[i:n])
	all[i] = v
	return r
}

// deleteAt makes a chunk of n elements one of n-1, without the i-th.
func deleteAt[T any](s *slab, r ref, head, n, i int) ref {
	var v T
	size := int(unsafe.Sizeof(v))
	all := unsafe.Slice((*T)(unsafe.Add(s.pages.at(r), head)), n)
	copy(all[i:], all[i+1:])
	if room := roomFor(n); room != roomFor(n-1) {
		to := s.take(head + roomFor(n-1)*size)
		copy(sliceAt[byte](s, to, head+(n-1)*size), sliceAt[byte](s, r, head+(n-1)*size))
		s.give(r, head+room*size)
		r = to
	}
	return r
}

// add puts id into the posting, which may have it already.
func (s *slab) add(p *posting, id uint32) {
	switch n := p.len(); {
	case n == 0:
		p.count, p.ids = 1, ref(id)
	case p.count&manyForm != 0:
		s.addMany(p, id)
	case n == 1:
		s.addSecond(p, id)
	default:
		i, found := search(sliceAt[uint32](s, p.ids, n), id)
		if found {
			return
		}
		if n == mostFew {
			s.toMany(p)
			s.addMany(p, id)
			return
		}
		p.ids = insertAt(s, p.ids, 0, n, i, id)
		p.count++
	}
}

func (s *slab) addSecond(p *posting, id uint32) {
	first := uint32(p.ids)
	if first == id {
		return
	}
	p.ids = s.take(roomFor(2) * 4)
	p.count = 2
	two := sliceAt[uint32](s, p.ids, 2)
	two[0], two[1] = min(first, id), max(first, id)
}

// remove takes id out of the posting and reports whether it was there.
func (s *slab) remove(p *posting, id uint32) bool {
	switch n := p.len(); {
	case p.count&manyForm != 0:
		if !s.removeMany(p, id) {
			return false
		}
		if p.len() == fewestMany {
			s.toFew(p)
		}
	case n == 0:
		return false
	case n == 1:
		if uint32(p.ids) != id {
			return false
		}
		*p = posting{}
	default:
		i, found := search(sliceAt[uint32](s, p.ids, n), id)
		if !found {
			return false
		}
		s.removeFew(p, n, i)
	}
	return true
}

// removeFew removes the i-th of the n ids of a posting of few.
func (s *slab) removeFew(p *posting, n, i int) {
	p.ids = deleteAt[uint32](s, p.ids, 0, n, i)
	p.count--
	if n == 2 {
		last := sliceAt[uint32](s, p.ids, 1)[0]
		s.give(p.ids, roomFor(1)*4)
		p.ids = ref(last)
	}
}

// next is the first id of the posting that is not less than from.
func (s *slab) next(p *posting, from uint32) (id uint32, ok bool) {
	n := p.len()
	switch {
	case n == 0:
		return 0, false
	case p.count&manyForm != 0:
		return s.nextMany(p, from)
	case n == 1:
		return uint32(p.ids), uint32(p.ids) >= from
	}
	all := sliceAt[uint32](s, p.ids, n)
	i, _ := search(all, from)
	if i == n {
		return 0, false
	}
	return all[i], true
}

// toMany gives a posting of few ids its form for many.
func (s *slab) toMany(p *posting) {
	n := p.len()
	few := posting{ids: p.ids, count: p.count}
	*p = posting{count: manyForm, ids: s.take(dirBytes(0))}
	*s.dirLen(p.ids) = 0
	for _, id := range sliceAt[uint32](s, few.ids, n) {
		s.addMany(p, id)
	}
	s.give(few.ids, roomFor(n)*4)
}

// toFew gives a posting of many ids its form for few.
func (s *slab) toFew(p *posting) {
	few := s.take(roomFor(p.len()) * 4)
	ids := sliceAt[uint32](s, few, p.len())
	from := uint32(0)
	for i := range ids {
		ids[i], _ = s.nextMany(p, from)
		from = ids[i] + 1
	}
	n := p.len()
	s.dropMany(p)
	*p = posting{count: uint32(n), ids: few}
}
