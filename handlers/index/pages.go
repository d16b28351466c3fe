package index

import (
	"math/bits"
	"sync"
	"sync/atomic"
	"unsafe"
)

// A ref is the place of something in the index's memory, in units of 16 bytes;
// 0 is none. A ref is valid from when its memory was handed out, and the memory
// stays mapped until the index is closed.
type ref uint32

const (
	unitShift = 4
	pageShift = 14
	pageSize  = 1 << pageShift

	unitsPerPage  = 1 << (pageShift - unitShift)
	pagesPerArena = 1 << (arenaShift - pageShift)
	arenaOrder    = arenaShift - pageShift
	unitsPerArena = 1 << (arenaShift - unitShift)
	maxArenas     = min(1<<32/unitsPerArena, 4096)
)

// MaxMemory is the most bytes that an index can hold, and its limit if none is
// configured: refs reach 64 GiB, and gaps between runs take some of it.
const MaxMemory = 7 * (maxArenas << arenaShift) / 8

// pages is the memory of an index: it hands out runs of pages of 16 KiB from
// arenas. It is a buddy allocator, so a run of 2^k pages lies at a multiple of
// its size; what a run has beyond the pages asked for is handed back at once.
//
// A free block is clean if no memory is behind it: it was never used, or given
// back to the kernel. Blocks used before are taken first, so that memory is used
// again, and blocks become buddies only if they are equally clean.
//
// The first touch of memory takes long, of a huge page milliseconds on some
// machines. So pages are warmed ahead of their use, by a goroutine that lives
// only as long as it has something to do; see warmer. Whoever is faster than it
// gets clean pages, which the kernel makes small ones.
type pages struct {
	bases [maxArenas]unsafe.Pointer // of the arenas; each is written once
	inUse atomic.Int64              // pages handed out

	mu     sync.Mutex
	limit  int64                       // pages that may be in use or dirty, as far as it goes
	arenas []*[pagesPerArena]pageState // the states of each arena's pages
	heads  [2][arenaOrder + 1]uint32   // lists of free blocks: first page, by clean and order
	dirty  int64                       // free pages that have memory behind them
	warmer warmer
}

// pageState is the state of the page at which a free block begins.
type pageState struct {
	next, prev uint32 // pages at which the list's neighbours begin; 0 is none
	order      uint8
	free       bool
	clean      bool
}

// at is the memory at r.
func (p *pages) at(r ref) unsafe.Pointer {
	return unsafe.Add(p.bases[r/unitsPerArena], uintptr(r%unitsPerArena)<<unitShift)
}

// bytes is the memory of n pages at r.
func (p *pages) bytes(r ref, n int) []byte {
	return unsafe.Slice((*byte)(p.at(r)), n<<pageShift)
}

// admits reports whether n more pages stay within limit, also in pages, and
// within what refs can reach. Callers that must not fail afterwards ask first.
func (p *pages) admits(n int, limit int64) bool {
	inUse := p.inUse.Load()
	return inUse+int64(n) <= limit && inUse+int64(n) <= MaxMemory>>pageShift
}

// take hands out n pages, whose contents may be anything.
func (p *pages) take(n int) ref {
	r, _ := p.run(n)
	return r
}

// takeZeroed hands out n pages of zeros.
func (p *pages) takeZeroed(n int) ref {
	r, clean := p.run(n)
	if !clean {
		clear(p.bytes(r, n))
	}
	return r
}

func (p *pages) run(n int) (r ref, clean bool) {
	if n < 1 || n > pagesPerArena {
		panic("BUG: a run of pages must lie within an arena")
	}
	order := bits.Len(uint(n - 1))
	p.mu.Lock()
	defer p.mu.Unlock()
	page, clean, ok := p.block(order)
	for !ok { // twice if a whole arena is wanted: the first lacks a page
		p.grow()
		page, clean, ok = p.block(order)
	}
	p.giveBack(page+uint32(n), 1<<order-n, clean)
	p.inUse.Add(int64(n))
	if clean {
		p.clean(p.inUse.Load() + p.dirty + p.warmer.busy - p.limit)
	}
	p.wakeWarmer(clean)
	return ref(page * unitsPerPage), clean
}

// give takes n pages back.
func (p *pages) give(r ref, n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.inUse.Add(-int64(n))
	p.giveBack(uint32(r)/unitsPerPage, n, false)
}

// grow maps one more arena. The very first page stays unused: ref 0 is none.
func (p *pages) grow() {
	n := len(p.arenas)
	if n == maxArenas {
		panic("the index has no room left to address: set a lower limit of its memory")
	}
	base, err := mapArena()
	if err != nil {
		panic("the index gets no memory from the system: " + err.Error())
	}
	p.bases[n] = base
	p.arenas = append(p.arenas, new([pagesPerArena]pageState))
	first := uint32(n * pagesPerArena)
	if n == 0 {
		p.giveBack(1, pagesPerArena-1, true)
		return
	}
	p.giveBack(first, pagesPerArena, true)
}

func (p *pages) state(page uint32) *pageState {
	return &p.arenas[page/pagesPerArena][page%pagesPerArena]
}

// block takes a free block of that order out of the lists, splitting a larger
// one if need be.
func (p *pages) block(order int) (page uint32, clean, ok bool) {
	for _, clean := range [...]bool{false, true} {
		for o := order; o <= arenaOrder; o++ {
			page := *p.head(clean, o)
			if page == 0 {
				continue
			}
			p.pull(page)
			for o > order {
				o--
				p.push(page+1<<o, o, clean)
			}
			return page, clean, true
		}
	}
	return 0, false, false
}

// giveBack makes n pages free, as the largest blocks that they form.
func (p *pages) giveBack(page uint32, n int, clean bool) {
	for n > 0 {
		order := min(bits.TrailingZeros32(page), bits.Len(uint(n))-1, arenaOrder)
		p.join(page, order, clean)
		page += 1 << order
		n -= 1 << order
	}
}

// join makes a block free, together with its buddy if that is as well.
func (p *pages) join(page uint32, order int, clean bool) {
	for order < arenaOrder {
		buddy := page ^ 1<<order
		s := p.state(buddy)
		if !s.free || int(s.order) != order || s.clean != clean {
			break
		}
		p.pull(buddy)
		page = min(page, buddy)
		order++
	}
	p.push(page, order, clean)
}

func (p *pages) head(clean bool, order int) *uint32 {
	if clean {
		return &p.heads[1][order]
	}
	return &p.heads[0][order]
}

func (p *pages) push(page uint32, order int, clean bool) {
	head := p.head(clean, order)
	*p.state(page) = pageState{next: *head, order: uint8(order), free: true, clean: clean}
	if *head != 0 {
		p.state(*head).prev = page
	}
	*head = page
	if !clean {
		p.dirty += 1 << order
	}
}

func (p *pages) pull(page uint32) {
	s := p.state(page)
	if s.prev != 0 {
		p.state(s.prev).next = s.next
	} else {
		*p.head(s.clean, int(s.order)) = s.next
	}
	if s.next != 0 {
		p.state(s.next).prev = s.prev
	}
	if !s.clean {
		p.dirty -= 1 << s.order
	}
	*s = pageState{}
}

const (
	// forgetOrder is the largest block that is given back to the kernel at once:
	// 4 MiB, so that nobody waits long for the lock.
	forgetOrder = min(22-pageShift, arenaOrder)

	// trimStep is how many pages trim gives back under one lock.
	trimStep = 1 << forgetOrder
)

// clean gives at least n dirty pages back to the kernel, if there are so many,
// the largest blocks first.
func (p *pages) clean(n int64) {
	for order := arenaOrder; order >= 0 && n > 0; order-- {
		for n > 0 && p.heads[0][order] != 0 {
			page, part := p.heads[0][order], min(order, forgetOrder)
			p.pull(page)
			p.giveBack(page+1<<part, 1<<order-1<<part, false)
			forget(p.bytes(ref(page*unitsPerPage), 1<<part))
			p.join(page, part, true)
			n -= 1 << part
		}
	}
}

// trim gives dirty pages back to the kernel until no more than spare are left,
// letting others in between.
func (p *pages) trim(spare int64) {
	for {
		p.mu.Lock()
		over := p.dirty - spare
		if over > 0 {
			p.clean(min(over, trimStep))
		}
		p.mu.Unlock()
		if over <= trimStep {
			return
		}
	}
}

// close unmaps everything. Nothing of it may be in use any more.
func (p *pages) close() {
	p.stopWarmer()
	p.mu.Lock()
	defer p.mu.Unlock()
	for i := range p.arenas {
		unmapArena(p.bases[i])
		p.bases[i] = nil
	}
	p.arenas = nil
	p.heads = [2][arenaOrder + 1]uint32{}
	p.dirty = 0
	p.inUse.Store(0)
}
