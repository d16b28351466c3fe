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
		var lacking int64
		k, block, done, lacking = s.expire(now, block, min(most-n, holdExpired))
		n += k
		x.tell(s)
		if lacking > 0 {
			x.streams.makeRoom(lacking)
		}
	}
	return n
}

// expire looks into the blocks from block on for what is due, and takes it out,
// until it has taken most or looked into holdBlocks. It returns where to go on,
// whether all is done, and how many bytes of stream memory are lacking to go on.
func (s *shard) expire(now int64, block, most int) (n, next int, done bool, lacking int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lacking = 0
	var room [holdExpired]victim
	due := room[:0]
	looked := 0
	for ; block < len(s.ids.earliest); block++ {
		if now <= s.ids.earliest[block] {
			continue
		}
		if looked == holdBlocks || len(due) == most {
			break
		}
		looked++
		if due = s.dueInBlock(now, block, due, most); now > s.ids.earliest[block] {
			break // there is more in it than may be taken
		}
	}
	n = s.takeOut(now, due)
	s.counts.Expired += int64(n)
	if n < len(due) {
		return n, s.dueAgain(due[n:]), false, s.lacking
	}
	return n, block, block >= len(s.ids.earliest), 0
}

// dueAgain makes entries that were not taken out due again, and returns the block of the
// first.
func (s *shard) dueAgain(due []victim) (block int) {
	for i := range due {
		s.ids.setDeadline(due[i].id, *s.ids.deadline(due[i].id))
	}
	return int(due[0].id >> blockShift)
}

// dueInBlock appends what is due in a block to due, up to most, and finds anew
// when to look into the block again.
func (s *shard) dueInBlock(now int64, block int, due []victim, most int) []victim {
	first := uint32(block) << blockShift
	n := min(idsPerBlock, s.ids.used-first)
	deadlines := s.ids.part(first).deadlines[first%idsPerPart:][:n]
	if earliest := earliestOf(deadlines); now <= earliest {
		s.ids.earliest[block] = s.lookAgain(now, block, earliest)
		return due
	}
	earliest := int64(riemann.Never)
	for i, deadline := range deadlines {
		if now <= deadline {
			earliest = min(earliest, deadline)
			continue
		}
		if len(due) == most {
			earliest = deadline
			break
		}
		due = append(due, victim{id: first + uint32(i)})
	}
	s.ids.earliest[block] = s.lookAgain(now, block, earliest)
	return due
}

// earliestOf is the least of the deadlines. That there are four at a time lets the
// processor compare them at once.
func earliestOf(deadlines []int64) int64 {
	a, b, c, d := int64(riemann.Never), int64(riemann.Never), int64(riemann.Never), int64(riemann.Never)
	for len(deadlines) >= 4 {
		a, b, c, d = min(a, deadlines[0]), min(b, deadlines[1]), min(c, deadlines[2]), min(d, deadlines[3])
		deadlines = deadlines[4:]
	}
	for _, deadline := range deadlines {
		a = min(a, deadline)
	}
	return min(a, b, c, d)
}

// lookAgain is when to look into a block again whose earliest deadline is given:
// then, or up to a quarter of the time sooner. Without that, blocks that were
// filled together, and are refreshed all the time, would all be looked into by
// the same run.
func (s *shard) lookAgain(now int64, block int, earliest int64) int64 {
	if earliest < now {
		return earliest
	}
	const parts = 256
	sooner := int64(uint32(block)*2654435761>>16) % (parts / 4)
	return earliest - (earliest-now)/parts*sooner
}

// victim is an entry that is due.
type victim struct {
	id   uint32
	hash keyHash
	ids  [2]ref // of the postings of its host and service
}

// takeOut takes entries out, until one must be kept for a stream and there is no memory
// for that, and returns how many. All that they touch is touched first, so that the cache
// misses overlap.
func (s *shard) takeOut(now int64, due []victim) int {
	sum := uint64(0)
	for i := range due {
		sum += touchEntry(s.pages.hint(s.ids.ref(due[i].id)), mostTouched)
	}
	h := &s.index.hasher
	for i := range due {
		v := &due[i]
		x := s.entry(s.ids.ref(v.id))
		v.hash = h.key(x.host(), x.service())
		sum += uint64(s.keys.touch(v.hash.slot).used)
		host := s.terms.touchTerm(hostField, h.term(v.hash.host))
		v.ids[0] = host.chunk()
		service := s.terms.touchTerm(serviceField, h.term(v.hash.service))
		v.ids[1] = service.chunk()
	}
	for i := range due {
		sum += touchEntry(s.pages.hint(due[i].ids[0]), cacheLine)
		sum += touchEntry(s.pages.hint(due[i].ids[1]), cacheLine)
	}
	s.touched = sum
	for i := range due {
		if !s.takeOutOne(now, &due[i]) {
			return i
		}
	}
	return len(due)
}

func (s *shard) takeOutOne(now int64, v *victim) bool {
	at := s.ids.ref(v.id)
	x := s.entry(at)
	if x.pinned() && !s.roomForOrphan(x) {
		return false
	}
	if s.index.listener.listening() {
		var e riemann.Event
		x.view(&e)
		s.changes.noteExpired(&e, s.index.cfg.ExpireKeep, now)
	}
	s.remove(s.locate(v.hash.slot, at), x, &v.hash)
	return true
}
