package index

import "unsafe"

// compaction is how far a shard has got with emptying spans of postings.
type compaction struct {
	emptying bool
	field    field
	next     uint64 // terms of field with this hash or a higher one, and of the fields after it, are still to be looked at
}

// tidy keeps fragmentation bounded: in each shard it empties spans of sparse
// classes, and then gives memory that nobody uses back to the system.
func (x *Index) tidy() {
	for _, s := range x.shards {
		for s.tidy() {
		}
	}
	x.pages.calm()
	x.pages.trim(x.pages.inUse.Load()/mostWarmShare + sparePages)
}

// sparePages is how much memory an index keeps at least before it gives any back:
// 32 MiB.
const sparePages = 32 << 20 >> pageShift

// tidy does a small step and reports whether there is more to do.
func (s *shard) tidy() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.compactEvents(1) > 0 || s.compactTerms()
}

// compactEvents empties up to that many spans of sparse classes of entries, by
// moving what is in them, and returns their number.
func (s *shard) compactEvents(most int) (emptied int) {
	for c := range s.events.classes {
		for emptied < most && s.events.sparse(classID(c)) {
			at := s.events.beginEmptying(classID(c))
			s.events.eachTaken(at, s.moveWhole)
			emptied++
		}
	}
	return emptied
}

// moveWhole moves an entry to another chunk of its class, unless it is pinned.
func (s *shard) moveWhole(at ref) {
	x := s.entry(at)
	if x.pinned() {
		return
	}
	hash := s.index.hasher.key(x.host(), x.service())
	p := s.locate(hash.slot, at)
	to := s.events.takeClass(x.class)
	copy(sliceAt[byte](&s.events, to, x.class.size()), sliceAt[byte](&s.events, at, x.class.size()))
	keySlotAt(&p).at = to
	s.ids.setRef(x.id, to)
	s.events.giveClass(at, x.class)
}

// compactTerms does a step of emptying the spans of sparse classes of postings,
// and reports whether there is more to do. Nothing tells whose a chunk is, so all
// terms are gone through, a segment of their table at a time.
func (s *shard) compactTerms() bool {
	c := &s.compact
	if !c.emptying {
		if c.emptying = s.chooseSparse(); !c.emptying {
			return false
		}
		c.field, c.next = 0, 0
		s.movePosting(&s.terms.crowded)
	}
	d := s.terms.tables[c.field].dir.Load()
	if d == nil || c.next > uint64(^uint32(0)) {
		c.field, c.next = c.field+1, 0
		c.emptying = c.field < termFields
		return c.emptying
	}
	seg := d.segments[c.next>>d.shift]
	s.moveTerms(seg)
	c.next = (c.next>>(32-seg.depth) + 1) << (32 - seg.depth)
	return true
}

// chooseSparse begins to empty spans, and reports whether there are any.
func (s *shard) chooseSparse() (any bool) {
	slab := &s.terms.slab
	for c := range slab.classes {
		for slab.sparse(classID(c)) {
			slab.beginEmptying(classID(c))
			any = true
		}
	}
	return any
}

// moveTerms moves what the terms of a segment have in spans that are to become
// empty.
func (s *shard) moveTerms(seg *segment) {
	base := s.pages.at(seg.at)
	for off := uintptr(0); off < 1<<segmentShift; off += 1 << termShift {
		if t := (*term)(unsafe.Add(base, off)); t.len() > 0 {
			s.movePosting(&t.posting)
		}
	}
}

func (s *shard) movePosting(p *posting) {
	slab := &s.terms.slab
	switch n := p.len(); {
	case n < 2 && p.count&manyForm == 0:
	case p.count&manyForm == 0:
		p.ids = slab.moveFrom(p.ids, roomFor(n)*4)
	default:
		groups := slab.groups(p)
		for i := range groups {
			slab.moveLows(&groups[i])
		}
		p.ids = slab.moveFrom(p.ids, dirBytes(len(groups)))
	}
}

func (s *slab) moveLows(g *group) {
	switch {
	case g.count&bitmapForm != 0:
		g.lows = s.moveFrom(g.lows, bitmapBytes)
	case g.count > 1:
		g.lows = s.moveFrom(g.lows, roomFor(g.len())*2)
	}
}

// moveFrom moves a chunk of n bytes if its span is to become empty, and returns
// where it is then.
func (s *slab) moveFrom(r ref, n int) ref {
	class := classFor(n)
	if class == ownRun || s.span(s.spanOf(r, class)).list != emptyingSpan {
		return r
	}
	to := s.takeClass(class)
	copy(sliceAt[byte](s, to, n), sliceAt[byte](s, r, n))
	s.giveClass(r, class)
	return to
}
