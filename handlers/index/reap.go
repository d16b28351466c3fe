package index

import (
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"darboux/handlers/riemann"
)

const (
	// holdExpired is how many entries a run takes out, and holdBlocks how many
	// blocks of deadlines it looks into, before it lets go of a shard's lock.
	holdExpired = 64
	holdBlocks  = 64

	// A wall clock that goes more than this away from the monotonic one between
	// two runs was set by someone.
	mostDrift = time.Second

	// After a jump a run takes out a part of the entries, but no less than
	// leastPace: so the clients have time to refresh what is not really old.
	paceParts = 32
	leastPace = 1024
)

// reaper is what Expire remembers from run to run.
type reaper struct {
	mu    sync.Mutex // held by the run
	ran   bool
	wall  int64         // when the last run was, by the wall clock, in microseconds
	mono  time.Duration // and by the monotonic one
	paced bool          // the clock jumped, and what was due then is not all taken out

	jumps atomic.Int64
}

// Expire implements Store. A jump of the wall clock is reported; what a jump
// forward makes due is taken out over several runs.
func (x *Index) Expire(now int64) int {
	r := &x.reaper
	r.mu.Lock()
	defer r.mu.Unlock()
	x.watchClock(now)
	most := x.mostPerRun()
	n := 0
	for _, s := range x.shards {
		n += x.expireShard(s, now, most-n)
	}
	if n < most {
		r.paced = false
	}
	x.tidy()
	return n
}

// watchClock compares the clocks with those of the last run.
func (x *Index) watchClock(now int64) {
	r := &x.reaper
	mono := x.cfg.Monotonic()
	drift := time.Duration(now-r.wall)*time.Microsecond - (mono - r.mono)
	first := !r.ran
	r.ran, r.wall, r.mono = true, now, mono
	if first || drift.Abs() <= mostDrift {
		return
	}
	r.jumps.Add(1)
	if drift < 0 {
		x.cfg.Report("clock jump", fmt.Sprintf("the wall clock jumped back by %v: entries stay that much longer", -drift))
		return
	}
	r.paced = true
	x.cfg.Report("clock jump", fmt.Sprintf("the wall clock jumped forward by %v: at most %d entries expire in each run until all that are due are gone", drift, x.mostPerRun()))
}

// mostPerRun is the most entries that a run takes out.
func (x *Index) mostPerRun() int {
	if !x.reaper.paced {
		return int(^uint(0) >> 1)
	}
	return max(leastPace, int(x.entries.Load()/paceParts))
}

// expireShard takes at most that many entries out of s, in steps.
func (x *Index) expireShard(s *shard, now int64, most int) int {
	n := 0
	for block, done := 0, false; !done && n < most; {
		var k int
		k, block, done = s.expire(now, block, min(most-n, holdExpired))
		n += k
		x.tell(s)
	}
	return n
}

// expire looks into the blocks from block on for what is due, and takes it out,
// until it has taken most or looked holdBlocks times. It returns where to go on,
// and whether all is done.
func (s *shard) expire(now int64, block, most int) (n, next int, done bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for looked := 0; block < len(s.ids.earliest); {
		if now <= s.ids.earliest[block] {
			block++
			continue
		}
		if looked == holdBlocks || n == most {
			return n, block, false
		}
		looked++ // if something due stays in it, it is looked into again
		n += s.expireBlock(now, block, most-n)
	}
	return n, block, true
}

// expireBlock takes what is due out of a block, at most that many entries. If all
// is out, it finds anew when to look into the block again.
func (s *shard) expireBlock(now int64, block, most int) int {
	var due [holdExpired]uint32
	n := 0
	first := uint32(block) << blockShift
	earliest := int64(riemann.Never)
	for id := first; id < min(first+idsPerBlock, s.ids.used); id++ {
		deadline := *s.ids.deadline(id)
		if now <= deadline {
			earliest = min(earliest, deadline)
			continue
		}
		if n == most {
			earliest = deadline
			break
		}
		due[n] = id
		n++
	}
	s.ids.earliest[block] = earliest
	s.expireIDs(now, due[:n])
	return n
}

// expireIDs takes entries out. Their memory is touched first, so that the cache
// misses overlap.
func (s *shard) expireIDs(now int64, due []uint32) {
	for _, id := range due {
		x := s.entry(s.ids.ref(id))
		if s.index.listener.listening() {
			var e riemann.Event
			x.view(&e)
			s.changes.noteExpired(&e, s.index.cfg.ExpireKeep, now)
		}
		hash := s.index.hasher.key(x.host(), x.service())
		s.remove(s.locate(hash.slot, s.ids.ref(id)), x, &hash)
		s.counts.Expired++
	}
}
