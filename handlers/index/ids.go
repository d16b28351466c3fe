package index

import (
	"math"
	"slices"
	"sync/atomic"
)

// ids are the numbers of a shard's entries. An entry keeps its id as long as its
// key is there, wherever its bytes move: so the order of ids is one in which
// cursors can go on, postings can name entries, and deadlines lie side by side.
//
// Deadlines are in blocks of 256 ids. earliest has for each block a moment that
// is not after any deadline of it: a refresh mostly leaves it alone, and the
// reaper, which looks only into blocks whose moment has come, moves it on. So a
// run costs in proportion to what expires, and a refresh no more than a store.
type ids struct {
	pages    *pages
	parts    atomic.Pointer[[]idPart] // replaced when it grows
	earliest []int64
	used     uint32 // ids from here on were never given out
	freed    uint32 // the last id given back, plus 1; the next is in its deadline
	live     int
}

// idPart is the memory for the next 4096 ids.
type idPart struct {
	at        ref
	refs      *[idsPerPart]ref   // where the entry is; 0: no such entry
	deadlines *[idsPerPart]int64 // see riemann.Event.Deadline
}

const (
	idPartShift = 12
	idsPerPart  = 1 << idPartShift
	idPartPages = idsPerPart * (4 + 8) / pageSize

	blockShift  = 8
	idsPerBlock = 1 << blockShift
)

func (x *ids) begin(p *pages) {
	x.pages = p
	x.parts.Store(new([]idPart))
}

func (x *ids) part(id uint32) *idPart { return &(*x.parts.Load())[id>>idPartShift] }

func (x *ids) ref(id uint32) ref { return x.part(id).refs[id%idsPerPart] }

func (x *ids) setRef(id uint32, r ref) { x.part(id).refs[id%idsPerPart] = r }

func (x *ids) deadline(id uint32) *int64 { return &x.part(id).deadlines[id%idsPerPart] }

// touch loads the deadline of an id, which may be a wrong one: see table.touch.
func (x *ids) touch(id uint32) uint64 {
	parts := *x.parts.Load()
	if int(id>>idPartShift) >= len(parts) {
		return 0
	}
	return uint64(parts[id>>idPartShift].deadlines[id%idsPerPart])
}

// touchRef loads where the entry of an id is, likewise.
func (x *ids) touchRef(id uint32) ref {
	parts := *x.parts.Load()
	if int(id>>idPartShift) >= len(parts) {
		return 0
	}
	return parts[id>>idPartShift].refs[id%idsPerPart]
}

func (x *ids) setDeadline(id uint32, deadline int64) {
	*x.deadline(id) = deadline
	if e := &x.earliest[id>>blockShift]; deadline < *e {
		*e = deadline
	}
}

// take gives out an id for the entry at r.
func (x *ids) take(r ref, deadline int64) uint32 {
	id := x.used
	if x.freed != 0 {
		id = x.freed - 1
		x.freed = uint32(math.MaxInt64 - *x.deadline(id))
	} else {
		x.makeRoom()
		x.used++
	}
	x.live++
	x.setRef(id, r)
	x.setDeadline(id, deadline)
	return id
}

// give takes an id back. What stands as its deadline from then on, the next
// free id, is so far in the future that the reaper never looks at it.
func (x *ids) give(id uint32) {
	x.setRef(id, 0)
	*x.deadline(id) = math.MaxInt64 - int64(x.freed)
	x.freed = id + 1
	x.live--
}

// makeRoom prepares the memory for the id used.
func (x *ids) makeRoom() {
	if x.used%idsPerBlock == 0 {
		x.earliest = append(x.earliest, math.MaxInt64)
	}
	if x.used%idsPerPart == 0 {
		at := x.pages.takeZeroed(idPartPages)
		parts := append(slices.Clone(*x.parts.Load()), idPart{
			at:        at,
			deadlines: (*[idsPerPart]int64)(x.pages.at(at)),
			refs:      (*[idsPerPart]ref)(x.pages.at(at + idsPerPart*8>>unitShift)),
		})
		x.parts.Store(&parts)
	}
}

// reset frees all of it. There must be no live ids.
func (x *ids) reset() {
	if x.live != 0 {
		panic("BUG: live ids are reset")
	}
	for _, part := range *x.parts.Load() {
		x.pages.give(part.at, idPartPages)
	}
	x.parts.Store(new([]idPart))
	x.earliest, x.used, x.freed = nil, 0, 0
}
