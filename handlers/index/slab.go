package index

import "unsafe"

// A slab hands out chunks of the size classes from spans, which are runs of
// pages divided into chunks of one class. A span whose last chunk comes back
// goes back to pages. A slab belongs to a shard and is guarded by its lock.
//
// Chunks are taken from the fullest spans, so that the emptiest become empty.
// Where that is not enough, see sparse.
type slab struct {
	pages   *pages
	classes []slabClass
	taken   int64 // bytes of chunks and runs handed out, at their full size
	held    int64 // bytes of spans and runs
}

// slabClass has the spans of a class that have free chunks, in lists by how
// full they are, in quarters.
type slabClass struct {
	lists [4]ref
	spans int
	free  int // free chunks of all spans but those being emptied
}

// span is the header of a span. Its chunks follow it.
type span struct {
	next, prev ref
	used       uint16 // chunks handed out
	fresh      uint16 // chunks from here on were never used
	freed      uint16 // first free chunk before fresh, plus 1; the next is in it
	class      classID
	list       uint8 // which of lists it is in, or one of the states below
}

// States of a span that is in no list.
const (
	fullSpan     = 4 // it has no free chunk
	emptyingSpan = 5 // nothing is to be taken from it, because it is to become empty
)

func newSlab(p *pages) slab {
	return slab{pages: p, classes: make([]slabClass, len(classSizes))}
}

func (s *slab) span(r ref) *span { return (*span)(s.pages.at(r)) }

// spanOf is the span of the chunk r: spans lie at multiples of their size.
func (s *slab) spanOf(r ref, c classID) ref {
	return r &^ ref(c.pages()*unitsPerPage-1)
}

// takeClass hands out a chunk of class c.
func (s *slab) takeClass(c classID) ref {
	cl := &s.classes[c]
	at := cl.fullest()
	if at == 0 {
		at = s.newSpan(c)
	}
	sp := s.span(at)
	i := sp.fresh
	if sp.freed != 0 {
		i = sp.freed - 1
		sp.freed = *(*uint16)(s.pages.at(chunkAt(at, c, i)))
	} else {
		sp.fresh++
	}
	sp.used++
	cl.free--
	s.taken += int64(c.size())
	s.file(at, sp)
	return chunkAt(at, c, i)
}

// take hands out a chunk, or a run of pages, for n bytes.
func (s *slab) take(n int) ref {
	if c := classFor(n); c != ownRun {
		return s.takeClass(c)
	}
	return s.takeRun(pagesFor(n))
}

// give takes the chunk back that take handed out for n bytes.
func (s *slab) give(r ref, n int) {
	if c := classFor(n); c != ownRun {
		s.giveClass(r, c)
		return
	}
	s.giveRun(r, pagesFor(n))
}

func (s *slab) takeRun(n int) ref {
	s.held += int64(n) << pageShift
	s.taken += int64(n) << pageShift
	return s.pages.take(n)
}

func (s *slab) giveRun(r ref, n int) {
	s.held -= int64(n) << pageShift
	s.taken -= int64(n) << pageShift
	s.pages.give(r, n)
}

func (s *slab) giveClass(r ref, c classID) {
	at := s.spanOf(r, c)
	sp := s.span(at)
	if sp.class != c || sp.used == 0 {
		panic("BUG: a chunk came back to a span that is not its own")
	}
	*(*uint16)(s.pages.at(r)) = sp.freed
	sp.freed = uint16(int(r-at)<<unitShift-spanHeaderSize)/uint16(c.size()) + 1
	sp.used--
	s.taken -= int64(c.size())
	if sp.list != emptyingSpan {
		s.classes[c].free++
	}
	if sp.used == 0 {
		s.dropSpan(at, sp)
		return
	}
	s.file(at, sp)
}

func (s *slab) newSpan(c classID) ref {
	at := s.pages.take(c.pages())
	*s.span(at) = span{class: c, list: fullSpan}
	cl := &s.classes[c]
	cl.spans++
	cl.free += c.perSpan()
	s.held += int64(c.pages()) << pageShift
	return at
}

func (s *slab) dropSpan(at ref, sp *span) {
	c := sp.class
	cl := &s.classes[c]
	if sp.list != emptyingSpan {
		cl.free -= c.perSpan()
	}
	s.unlink(at, sp)
	cl.spans--
	s.held -= int64(c.pages()) << pageShift
	s.pages.give(at, c.pages())
}

// chunkAt is the i-th chunk of a span.
func chunkAt(at ref, c classID, i uint16) ref {
	return at + (spanHeaderSize+ref(i)*ref(c.size()))>>unitShift
}

// fullest is a span with free chunks, of the fullest there are; 0 is none.
func (cl *slabClass) fullest() ref {
	for i := len(cl.lists) - 1; i >= 0; i-- {
		if cl.lists[i] != 0 {
			return cl.lists[i]
		}
	}
	return 0
}

// file puts a span into the list where it belongs.
func (s *slab) file(at ref, sp *span) {
	if sp.list == emptyingSpan {
		return
	}
	list := uint8(int(sp.used) * 4 / sp.class.perSpan())
	if list == sp.list {
		return
	}
	s.unlink(at, sp)
	sp.list = list
	if list == fullSpan {
		return
	}
	head := &s.classes[sp.class].lists[list]
	sp.next = *head
	if sp.next != 0 {
		s.span(sp.next).prev = at
	}
	*head = at
}

// unlink takes a span out of its list, if it is in one.
func (s *slab) unlink(at ref, sp *span) {
	if sp.list >= fullSpan {
		return
	}
	if sp.prev != 0 {
		s.span(sp.prev).next = sp.next
	} else {
		s.classes[sp.class].lists[sp.list] = sp.next
	}
	if sp.next != 0 {
		s.span(sp.next).prev = sp.prev
	}
	sp.next, sp.prev = 0, 0
	sp.list = fullSpan
}

// sparse reports whether so many chunks of the class are free, a quarter of all
// and a span's besides, that a span should be emptied into the others. This is
// the bound of fragmentation: what compact leaves behind has less.
func (s *slab) sparse(c classID) bool {
	cl := &s.classes[c]
	return cl.free >= c.perSpan()+cl.spans*c.perSpan()/4
}

// beginEmptying chooses the span of a sparse class that is to become empty: no
// chunk is taken from it any more.
func (s *slab) beginEmptying(c classID) ref {
	cl := &s.classes[c]
	for _, at := range cl.lists {
		if at == 0 {
			continue
		}
		sp := s.span(at)
		s.unlink(at, sp)
		sp.list = emptyingSpan
		cl.free -= c.perSpan() - int(sp.used)
		return at
	}
	panic("BUG: a sparse class has no span with free chunks")
}

// eachTaken calls f for each chunk of a span that is handed out. f may give the
// chunk back, and with the last one the span is gone.
func (s *slab) eachTaken(at ref, f func(chunk ref)) {
	sp := s.span(at)
	c := sp.class
	var free [pageSize >> unitShift / 64]uint64 // spans of more pages have fewer chunks
	for i := sp.freed; i != 0; i = *(*uint16)(s.pages.at(chunkAt(at, c, i-1))) {
		free[(i-1)/64] |= 1 << ((i - 1) % 64)
	}
	for i := range sp.fresh {
		if free[i/64]&(1<<(i%64)) == 0 {
			f(chunkAt(at, c, i))
		}
	}
}

var _ = [1]struct{}{}[unsafe.Sizeof(span{})-spanHeaderSize]
