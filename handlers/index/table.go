package index

import (
	"sync/atomic"
	"unsafe"
)

// A table is a hash table in the index's memory that grows in small steps. Its
// slots stand in segments of two pages; a directory says for the top bits of a
// hash which segment is its own. A segment that gets too full is split in two,
// which moves some three thousand slots at most; nothing else ever moves.
//
// A slot begins with the hash (32 bits), and its next 32 bits are 0 exactly if
// it is empty; what else is in it is its user's. Within a segment a slot stands
// as near as possible behind where its hash's low bits want it.
//
// A table belongs to a shard and is guarded by its lock, but for touch.
type table struct {
	pages     *pages
	slotShift uint8                     // log2 of a slot's size
	segments  int                       // how many there are
	live      int                       // slots that are not empty
	dir       atomic.Pointer[directory] // nil before the first insert
}

// directory is replaced when it grows, and changed in place when a segment is
// split. bases repeats where the segments' memory is, to save a step.
type directory struct {
	shift    uint8 // a hash shifted right by it is an index of the others
	segments []*segment
	bases    []unsafe.Pointer
}

type segment struct {
	at    ref
	live  int
	depth uint8 // how many top bits its hashes share
}

const (
	segmentPages = 2
	segmentShift = pageShift + 1

	// maxDepth keeps the bits that choose a segment apart from those that
	// choose a slot in it.
	maxDepth = 20
)

// slot is what all slots begin with.
type slot struct {
	hash uint32
	used uint32 // 0: empty
}

func (t *table) begin(p *pages, slotShift uint8) { t.pages, t.slotShift = p, slotShift }

// mostLive is how many slots of a segment may be used: 13 of 16. With more,
// looking for what is not there takes long.
func (t *table) mostLive() int { return (1 << (segmentShift - t.slotShift)) * 13 / 16 }

// A probe walks over the slots where a hash may be.
type probe struct {
	base  unsafe.Pointer
	at    uint32
	mask  uint32
	shift uint8
}

// probe begins at the slot where hash wants to be. The loop is
//
//	for p := t.probe(h); p.more(); p.next() {
func (t *table) probe(hash uint32) probe {
	d := t.dir.Load()
	if d == nil {
		return emptyProbe
	}
	mask := uint32(1)<<(segmentShift-t.slotShift) - 1
	return probe{base: d.bases[hash>>d.shift], at: hash & mask, mask: mask, shift: t.slotShift}
}

// emptyProbe ends at once. It has room for the largest slot.
var emptyProbe = probe{base: unsafe.Pointer(new(term))}

func (p *probe) slot() *slot { return (*slot)(unsafe.Add(p.base, uintptr(p.at)<<p.shift)) }

// more reports whether the slot at hand is used: otherwise the hash is not
// further on either.
func (p *probe) more() bool { return p.slot().used != 0 }

func (p *probe) next() { p.at = (p.at + 1) & p.mask }

// only is the slot that has a hash, if there is one and no other.
func (t *table) only(hash uint32) (at probe, ok bool) {
	for p := t.probe(hash); p.more(); p.next() {
		if p.slot().hash != hash {
			continue
		}
		if ok {
			return at, false
		}
		at, ok = p, true
	}
	return at, ok
}

// touch loads the slot where hash wants to be, and returns what is in it: a
// hint, which may be stale. It is the one thing that needs no lock; the caller
// makes sure that the race detector doesn't see it.
func (t *table) touch(hash uint32) slot {
	p := t.probe(hash)
	return *p.slot()
}

// insert returns an empty slot for hash, which the caller must fill.
func (t *table) insert(hash uint32) *slot {
	if t.dir.Load() == nil {
		t.firstSegment()
	}
	for {
		d := t.dir.Load()
		seg := d.segments[hash>>d.shift]
		if seg.live < t.mostLive() {
			seg.live++
			t.live++
			return t.place(seg, hash)
		}
		t.split(seg, hash)
	}
}

// place finds hash its slot in a segment that has room.
func (t *table) place(seg *segment, hash uint32) *slot {
	mask := uint32(1)<<(segmentShift-t.slotShift) - 1
	p := probe{base: t.pages.at(seg.at), at: hash & mask, mask: mask, shift: t.slotShift}
	for p.more() {
		p.next()
	}
	s := p.slot()
	s.hash = hash
	return s
}

func (t *table) newSegment(depth uint8) *segment {
	t.segments++
	return &segment{at: t.pages.takeZeroed(segmentPages), depth: depth}
}

func (t *table) firstSegment() {
	seg := t.newSegment(0)
	t.dir.Store(&directory{shift: 32, segments: []*segment{seg}, bases: []unsafe.Pointer{t.pages.at(seg.at)}})
}

// split replaces the segment that hash belongs to by two.
func (t *table) split(seg *segment, hash uint32) {
	if seg.depth == maxDepth {
		panic("BUG: thousands of hashes share their first bits")
	}
	if 32-t.dir.Load().shift == seg.depth {
		t.double()
	}
	halves := [2]*segment{t.newSegment(seg.depth + 1), t.newSegment(seg.depth + 1)}
	bit := 31 - seg.depth
	size := uintptr(1) << t.slotShift
	base := t.pages.at(seg.at)
	for off := uintptr(0); off < 1<<segmentShift; off += size {
		old := (*slot)(unsafe.Add(base, off))
		if old.used == 0 {
			continue
		}
		half := halves[old.hash>>bit&1]
		half.live++
		copySlot(unsafe.Pointer(t.place(half, old.hash)), unsafe.Pointer(old), size)
	}
	t.enter(halves[0], hash&^(1<<bit))
	t.enter(halves[1], hash|1<<bit)
	t.pages.give(seg.at, segmentPages)
	t.segments--
}

// enter puts seg into the directory for all hashes that share its bits of hash.
func (t *table) enter(seg *segment, hash uint32) {
	d := t.dir.Load()
	first := hash >> (32 - seg.depth) << (32 - seg.depth) >> d.shift
	for i := range uint32(1) << (32 - d.shift - seg.depth) {
		d.segments[first+i] = seg
		d.bases[first+i] = t.pages.at(seg.at)
	}
}

// double gives the directory one bit more.
func (t *table) double() {
	old := t.dir.Load()
	d := &directory{shift: old.shift - 1}
	for i, seg := range old.segments {
		d.segments = append(d.segments, seg, seg)
		d.bases = append(d.bases, old.bases[i], old.bases[i])
	}
	t.dir.Store(d)
}

func copySlot(to, from unsafe.Pointer, size uintptr) {
	copy(unsafe.Slice((*byte)(to), size), unsafe.Slice((*byte)(from), size))
}

// remove empties the slot that p is at, moving those behind it up so that none
// is lost. Slots found before are no longer where they were.
func (t *table) remove(p probe) {
	d := t.dir.Load()
	d.segments[p.slot().hash>>d.shift].live--
	t.live--
	size := uintptr(1) << p.shift
	gap := p
	for p.next(); p.more(); p.next() {
		wants := p.slot().hash & p.mask
		if (p.at-wants)&p.mask < (p.at-gap.at)&p.mask {
			continue // it stands between where it wants to be and the gap
		}
		copySlot(unsafe.Pointer(gap.slot()), unsafe.Pointer(p.slot()), size)
		gap.at = p.at
	}
	clear(unsafe.Slice((*byte)(unsafe.Pointer(gap.slot())), size))
}

// reset frees all of it. The table must have no live slots.
func (t *table) reset() {
	d := t.dir.Load()
	if d == nil {
		return
	}
	if t.live != 0 {
		panic("BUG: a table that is reset has live slots")
	}
	t.dir.Store(nil)
	var last *segment
	for _, seg := range d.segments {
		if seg != last {
			t.pages.give(seg.at, segmentPages)
			last = seg
		}
	}
	t.segments = 0
}
