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
	for id, done := uint32(0), false; !done && n < most; {
		var k int
		var lacking int64
		k, id, done, lacking = s.expire(now, id, min(most-n, holdExpired))
		n += k
		x.tell(s)
		if lacking > 0 {
			x.streams.makeRoom(lacking)
		}
	}
	return n
}

// expire looks from an id on for what is due, and takes it out, until it has taken
// most or looked into holdBlocks. It returns where to go on, whether all is done, and
// how many bytes of stream memory are lacking to go on.
func (s *shard) expire(now int64, id uint32, most int) (n int, next uint32, done bool, lacking int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var room [holdExpired]victim
	due, next := s.collectDue(tickOf(now), id, room[:0], most)
	due = s.reallyDue(now, due)
	n = s.takeOut(now, due)
	s.counts.Expired += int64(n)
	if n < len(due) {
		return n, s.dueAgain(due[n:]), false, s.takeLacking()
	}
	return n, next, next >= s.ids.used, 0
}

// collectDue appends to due what stands in blocks whose tick has come, up to most, and
// returns it and where to go on.
func (s *shard) collectDue(now, id uint32, due []victim, most int) (_ []victim, next uint32) {
	for looked := 0; id < s.ids.used; {
		block := id >> blockShift
		if now < s.ids.earliest[block] {
			id = (block + 1) << blockShift
			continue
		}
		if looked == holdBlocks || len(due) == most {
			break
		}
		looked++
		due, id = s.dueInBlock(now, id, due, most)
	}
	return due, id
}

// dueAgain makes entries that were not taken out due again, and returns the first's id.
func (s *shard) dueAgain(due []victim) (id uint32) {
	for i := range due {
		s.ids.lookAt(due[i].id, *s.ids.tick(due[i].id))
	}
	return due[0].id
}

// dueInBlock appends what is due in a block, from an id on, to due, up to most, finds
// anew when to look into the block again, and returns where to go on. What is due in the
// tick at hand may not be due yet; see reallyDue.
func (s *shard) dueInBlock(now, id uint32, due []victim, most int) (_ []victim, next uint32) {
	block := id >> blockShift
	end := min((block+1)<<blockShift, s.ids.used)
	ticks := s.ids.part(id).ticks[id%idsPerPart:][:end-id]
	earliest := uint32(lastTick)
	if id%idsPerBlock != 0 {
		earliest = now // what stands before id may be due, too
	}
	for len(ticks) > 0 {
		some := ticks[:min(len(ticks), ticksAtOnce)]
		ticks = ticks[len(some):]
		if len(some) == ticksAtOnce {
			if e := earliestOf((*[ticksAtOnce]uint32)(some)); now < e {
				earliest = min(earliest, e)
				id += ticksAtOnce
				continue
			}
		}
		for _, tick := range some {
			if tick <= now && len(due) == most {
				s.ids.earliest[block] = min(earliest, now)
				return due, id
			}
			if tick <= now {
				due = append(due, victim{id: id})
			}
			if tick >= now {
				earliest = min(earliest, tick)
			}
			id++
		}
	}
	s.ids.earliest[block] = s.lookAgain(now, block, earliest)
	return due, end
}

// ticksAtOnce is how many ticks are passed over together if none of them has come.
const ticksAtOnce = 16

// earliestOf is the least of the ticks. In pairs, the processor compares several at once.
func earliestOf(t *[ticksAtOnce]uint32) uint32 {
	a, b := min(min(t[0], t[1]), min(t[2], t[3])), min(min(t[4], t[5]), min(t[6], t[7]))
	c, d := min(min(t[8], t[9]), min(t[10], t[11])), min(min(t[12], t[13]), min(t[14], t[15]))
	return min(min(a, b), min(c, d))
}

// lookAgain is when to look into a block again whose earliest tick is given: then, or
// up to a quarter of the time sooner. Without that, blocks that were filled together,
// and are refreshed all the time, would all be looked into by the same run. Those that
// lie side by side stay together, because that is how memory is read fastest.
func (s *shard) lookAgain(now, block, earliest uint32) uint32 {
	if earliest <= now {
		return earliest
	}
	const parts = 256
	sooner := block >> (idPartShift - blockShift) * 2654435761 >> 16 % (parts / 4)
	return earliest - uint32(uint64(earliest-now)*uint64(sooner)/parts)
}

// victim is an entry that is due.
type victim struct {
	id   uint32
	hash keyHash
	host posting // a hint: that of its host
}

// reallyDue leaves out of due what only becomes due later in the tick at hand. The
// entries are touched first, so that the cache misses overlap.
func (s *shard) reallyDue(now int64, due []victim) []victim {
	sum := uint64(0)
	for i := range due {
		sum += s.pages.touch(s.ids.ref(due[i].id), 3*cacheLine)
	}
	s.touched = sum
	really := due[:0]
	for i := range due {
		id := due[i].id
		if *s.ids.tick(id) != tickOf(now) || now > s.entry(s.ids.ref(id)).deadline() {
			really = append(really, due[i])
		}
	}
	return really
}

// takeOut takes entries out, until one must be kept for a stream and there is no memory
// for that, and returns how many.
func (s *shard) takeOut(now int64, due []victim) int {
	h := &s.index.hasher
	for i := range due {
		v := &due[i]
		x := s.entry(s.ids.ref(v.id))
		v.hash = h.key(x.host(), x.service())
	}
	s.touchDue(due)
	for i := range due {
		if !s.takeOutOne(now, &due[i]) {
			return i
		}
	}
	return len(due)
}

// touchDue loads what is changed with the entries to be taken out, so that the cache
// misses overlap: the shorter a loop's body, the more of them do.
func (s *shard) touchDue(due []victim) {
	h := &s.index.hasher
	sum := uint64(0)
	for i := range due {
		sum += uint64(s.keys.touch(due[i].hash.slot).used)
	}
	for i := range due {
		due[i].host = s.terms.touchTerm(hostField, h.term(due[i].hash.host)).posting
	}
	for i := range due {
		v := &due[i]
		at := s.ids.ref(v.id)
		if c := s.entry(at).class; c != ownRun {
			sum += s.pages.touch(s.events.spanOf(at, c), cacheLine)
		}
		service := s.terms.touchTerm(serviceField, h.term(v.hash.service)).posting
		sum += s.terms.slab.touchMember(&v.host, v.id)
		sum += s.terms.slab.touchMember(&service, v.id)
	}
	s.touched = sum
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
