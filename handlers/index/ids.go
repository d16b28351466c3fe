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
// Deadlines are kept in ticks, in blocks of 256 ids. earliest has for each block a
// tick that is not after any deadline of it: a refresh mostly leaves it alone, and
// the reaper, which looks only into blocks whose tick has come, moves it on. So a
// run costs in proportion to what expires, and a refresh no more than a store.
type ids struct {
	pages    *pages
	parts    atomic.Pointer[[]idPart] // replaced when it grows
	earliest []uint32
	used     uint32 // ids from here on were never given out
	freed    uint32 // the last id given back, plus 1; the next is in its tick
	live     int
}

// idPart is the memory for the next 4096 ids.
type idPart struct {
	at    ref
	refs  *[idsPerPart]ref    // where the entry is; 0: no such entry
	ticks *[idsPerPart]uint32 // of the deadlines
}

const (
	idPartShift = 12
	idsPerPart  = 1 << idPartShift
	idPartPages = idsPerPart * (4 + 4) / pageSize

	blockShift  = 8
	idsPerBlock = 1 << blockShift
)

// Ticks are half a second long, about, and count from the year 2005 to 2075. The
// exact deadline is in the event itself, and only looked at in the tick in which it
// is reached. Before the first tick and behind the last one it is always looked at.
const (
	tickShift = 19
	tickBase  = 1 << 50

	// lastTick is followed by what stands in the place of a free id's tick.
	lastTick = math.MaxUint32 - mostIDs
)

// tickOf is the tick of a moment, in microseconds of the Unix epoch.
func tickOf(moment int64) uint32 {
	return uint32(min((max(moment, tickBase)-tickBase)>>tickShift, lastTick))
}

func (x *ids) begin(p *pages) {
	x.pages = p
	x.parts.Store(new([]idPart))
}

func (x *ids) part(id uint32) *idPart { return &(*x.parts.Load())[id>>idPartShift] }

func (x *ids) ref(id uint32) ref { return x.part(id).refs[id%idsPerPart] }

func (x *ids) setRef(id uint32, r ref) { x.part(id).refs[id%idsPerPart] = r }

func (x *ids) tick(id uint32) *uint32 { return &x.part(id).ticks[id%idsPerPart] }

// touch loads the tick of an id, which may be a wrong one: see table.touch.
func (x *ids) touch(id uint32) uint64 {
	parts := *x.parts.Load()
	if int(id>>idPartShift) >= len(parts) {
		return 0
	}
	return uint64(parts[id>>idPartShift].ticks[id%idsPerPart])
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
	t := tickOf(deadline)
	*x.tick(id) = t
	x.lookAt(id, t)
}

// lookAt makes the reaper look into an id's block in that tick, if not sooner.
func (x *ids) lookAt(id, tick uint32) {
	if e := &x.earliest[id>>blockShift]; tick < *e {
		*e = tick
	}
}

// take gives out an id for the entry at r.
func (x *ids) take(r ref, deadline int64) uint32 {
	id := x.used
	if x.freed != 0 {
		id = x.freed - 1
		x.freed = *x.tick(id) - lastTick - 1
	} else {
		x.makeRoom()
		x.used++
	}
	x.live++
	x.setRef(id, r)
	x.setDeadline(id, deadline)
	return id
}

// give takes an id back. What stands as its tick from then on, the next free id, is
// behind the last tick, so that the reaper never looks at it.
func (x *ids) give(id uint32) {
	x.setRef(id, 0)
	*x.tick(id) = lastTick + 1 + x.freed
	x.freed = id + 1
	x.live--
}

// makeRoom prepares the memory for the id used.
func (x *ids) makeRoom() {
	if x.used%idsPerBlock == 0 {
		x.earliest = append(x.earliest, lastTick)
	}
	if x.used%idsPerPart == 0 {
		at := x.pages.takeZeroed(idPartPages)
		parts := append(slices.Clone(*x.parts.Load()), idPart{
			at:    at,
			refs:  (*[idsPerPart]ref)(x.pages.at(at)),
			ticks: (*[idsPerPart]uint32)(x.pages.at(at + idsPerPart*4>>unitShift)),
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
