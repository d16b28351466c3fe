package index

import "sync"

const (
	// A block is warmed as a whole: 2 MiB, a huge page.
	warmOrder = 21 - pageShift
	warmPages = 1 << warmOrder

	// An index that holds less than this many pages (8 MiB) is not warmed ahead:
	// it is to stay small.
	leastWarm = 8 << 20 >> pageShift

	// An index is warmed ahead by a sixteenth of its pages, or, if that proved too
	// few, by up to a quarter, but by no more than mostAhead (256 MiB).
	warmShare     = 16
	mostWarmShare = 4
	mostAhead     = 256 << 20 >> pageShift
)

// warmer is what pages know of warming. It is guarded by pages.mu.
type warmer struct {
	running sync.WaitGroup // the goroutine, if there is one
	active  bool
	stopped bool
	busy    int64 // pages that are being warmed: neither free nor in use
	late    int64 // pages that were taken clean although there should have been warm ones
}

// ahead is how many dirty pages there should be.
func (p *pages) ahead() int64 {
	inUse := p.inUse.Load()
	if inUse < leastWarm {
		return 0
	}
	return min(inUse/warmShare+p.warmer.late, inUse/mostWarmShare, mostAhead)
}

// calm makes what proved too few be forgotten bit by bit.
func (p *pages) calm() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.warmer.late -= p.warmer.late / 4
}

// wakeWarmer starts the goroutine if too few warm pages are left. late tells that
// a clean page had to be taken.
func (p *pages) wakeWarmer(late bool) {
	w := &p.warmer
	if late && p.inUse.Load() >= leastWarm {
		w.late = min(w.late+warmPages, mostAhead)
	}
	if w.active || w.stopped || p.dirty >= p.ahead() {
		return
	}
	w.active = true
	w.running.Go(p.warmAhead)
}

// warmAhead warms blocks until there are enough warm pages.
func (p *pages) warmAhead() {
	p.mu.Lock()
	defer p.mu.Unlock()
	w := &p.warmer
	for !w.stopped && p.dirty < p.ahead() {
		p.growAhead()
		if !p.warmOne() {
			break
		}
	}
	w.active = false
}

// warmOne warms a block, letting go of the lock meanwhile. It reports whether it
// could.
func (p *pages) warmOne() bool {
	if p.inUse.Load()+p.dirty+warmPages > p.limit {
		return false
	}
	page, ok := p.cleanBlock()
	if !ok {
		return false
	}
	p.warmer.busy = warmPages
	p.mu.Unlock()
	warmed := warm(p.bytes(ref(page*unitsPerPage), warmPages))
	p.mu.Lock()
	p.warmer.busy = 0
	p.join(page, warmOrder, !warmed)
	return warmed
}

// cleanBlock takes a clean block to be warmed out of the lists.
func (p *pages) cleanBlock() (page uint32, ok bool) {
	for order := warmOrder; order <= arenaOrder; order++ {
		if page := p.heads[1][order]; page != 0 {
			p.pull(page)
			p.giveBack(page+warmPages, 1<<order-warmPages, true)
			return page, true
		}
	}
	return 0, false
}

// growAhead maps the next arena before this one is used up: to map one has to
// wait until the kernel is done with the page that is being warmed, so it is not
// left to who needs it.
func (p *pages) growAhead() {
	clean := int64(len(p.arenas))*pagesPerArena - p.inUse.Load() - p.dirty
	if clean < pagesPerArena/2 && len(p.arenas) < maxArenas {
		p.grow()
	}
}

// stopWarmer ends the goroutine, and waits for it.
func (p *pages) stopWarmer() {
	p.mu.Lock()
	p.warmer.stopped = true
	p.mu.Unlock()
	p.warmer.running.Wait()
}
