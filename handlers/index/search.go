package index

import (
	"google.golang.org/protobuf/encoding/protowire"

	"darboux/handlers/riemann"
)

const (
	// holdIDs is the most entries that a search looks at before it lets go of a
	// shard's lock, fewer if its query has many terms: some microseconds' work.
	holdIDs  = 64
	holdCost = 10 * holdIDs
	// holdBytes is how many bytes of entries it looks at under one lock, about. A
	// larger entry is looked at without the lock.
	holdBytes = 32 << 10
	// usualSize is how many bytes of an entry count as one entry of a slice: a larger one
	// counts as several.
	usualSize = holdBytes / holdIDs
	// holdSkipped is how many ids without an entry are passed over under one lock.
	holdSkipped = 4 * holdIDs
)

// finder is one call of a search.
type finder struct {
	index  *Index
	q      Matcher
	cur    *Cursor
	dst    []byte // where matches are appended
	limit  int
	stream *stream // what takes them instead; nil: dst
	budget int     // entries to look at

	needs  riemann.Fields // fields of an entry that q looks at, or everything
	hold   int            // entries under one lock
	apart  bool           // q may be slow: it looks at entries without the lock
	number int            // of the shard at hand

	found [holdIDs]candidate
	kept  [holdIDs]ref // pinned, for the stream
	keeps int
}

// candidate is an entry that is to be looked at.
type candidate struct {
	id   uint32
	at   ref
	kept riemann.Fields // if it is pinned: what stands in its header may change
}

// Search implements Store.
func (x *Index) Search(q Matcher, cur *Cursor, dst []byte, limit int) []byte {
	f := finder{index: x, cur: cur, dst: dst, limit: orNone(limit)}
	f.find(q)
	return f.dst
}

// find goes on from the cursor until it has looked at enough, or something is full.
func (f *finder) find(q Matcher) {
	cur, before := f.cur, f.cur.Looked
	f.begin(q)
	for f.budget > 0 && cur.shard < len(f.index.shards) && len(f.dst) < f.limit && !cur.Full && !f.broken() {
		f.number = cur.shard
		f.goOn(f.index.shards[f.number])
		if f.stream != nil {
			f.stream.take(f.number, f.kept[:f.keeps])
			f.keeps = 0
		}
	}
	f.index.searches.looked.Add(int64(cur.Looked - before))
	if cur.shard == len(f.index.shards) && !cur.Done {
		cur.Done = true
		f.index.dropPlan(cur)
		f.index.searches.ways[cur.Way].Add(1)
	}
}

func (f *finder) broken() bool { return f.stream != nil && f.stream.broken.Load() }

// begin finds out what can be made of q.
func (f *finder) begin(q Matcher) {
	f.q, f.needs, f.hold = q, everything, holdIDs
	f.budget = f.cur.budget()
	f.cur.Full = false
	query, ok := q.(Query)
	if !ok {
		return
	}
	f.needs = query.Needs()
	f.hold = max(1, min(holdIDs, holdCost/(9+query.Terms())))
	f.apart = query.Steps() > 0
	if !f.cur.begun {
		f.cur.begun = true
		f.cur.plan = newPlan(f.index, query.Lookups())
		f.cur.shard = f.firstShard()
	}
}

// firstShard is where the search begins: a key is in one shard only.
func (f *finder) firstShard() int {
	switch p := f.cur.plan; {
	case p == nil:
		return 0
	case p.isKey:
		return f.index.shardOf(&p.key().key)
	case p.nothing():
		return len(f.index.shards)
	}
	return 0
}

// goOn does the next step of the search in a shard.
func (f *finder) goOn(s *shard) {
	p, way := f.cur.plan, ByScan
	switch {
	case p == nil:
	case p.isKey:
		way = ByKey
	case p.phase <= collectIDs:
		if p.prepare(s) {
			f.budget -= holdIDs
		}
		return
	case p.phase != fromAll:
		way = ByPosting
	}
	f.cur.Way = max(f.cur.Way, way)
	if f.apart || f.cur.large {
		f.lookApart(s)
		return
	}
	f.look(s)
}

// look looks at the next entries under the shard's lock.
func (f *finder) look(s *shard) {
	s.mu.Lock()
	defer s.mu.Unlock() // q may panic
	all, next, end := f.candidates(s)
	bytes := 0
	for i := range all {
		c := &all[i]
		x := s.entry(c.at)
		if f.tooYoung(x) {
			continue
		}
		if bytes += int(x.size); bytes > holdBytes && i > 0 || x.size > holdBytes {
			f.cur.large = x.size > holdBytes
			next, end = c.id, false
			break
		}
		if !f.matches(x, x.fields()) {
			continue
		}
		if !f.take(x) {
			next, end = c.id, false
			break
		}
		if f.stream != nil {
			s.pin(x, c.at)
			f.keep(c.at)
		}
	}
	f.rest(s, next, end)
}

// rest notes where to go on. Unless the cursor is inside the shard already, or at the end
// of it, the caller holds the shard's lock.
func (f *finder) rest(s *shard, next uint32, end bool) {
	cur := f.cur
	cur.next = uint64(next)
	switch {
	case cur.plan != nil && cur.plan.isKey:
		if end {
			cur.shard = len(f.index.shards)
		}
	case end:
		cur.leaveShard()
	case !cur.inside:
		cur.inside, cur.born = true, s.nextBirths()
	}
}

// tooYoung reports whether an entry came to the shard after the search let go of its
// lock: it may be of a key that was met already, deleted, and inserted anew.
func (f *finder) tooYoung(x *entry) bool { return f.cur.inside && x.born() >= f.cur.born }

func (f *finder) matches(x *entry, kept riemann.Fields) bool {
	f.budget -= 1 + int(x.size)/usualSize
	f.cur.Looked++
	x.viewOf(&f.cur.view, kept, f.needs)
	return f.q.Match(&f.cur.view)
}

// take counts a match and appends it to dst, if that is where it belongs. It returns
// false, with nothing done, if it has no room.
func (f *finder) take(x *entry) bool {
	n := fieldSize(x.size)
	switch {
	case f.cur.Count || f.stream != nil:
	case f.cur.Within && len(f.dst)+n > f.limit, len(f.dst) >= f.limit:
		f.cur.Full = f.cur.Within
		f.budget++
		f.cur.Looked--
		return false
	default:
		f.dst = riemann.AppendEventField(f.dst, x.stored())
	}
	f.cur.Matched++
	f.cur.Bytes += int64(n)
	return true
}

func (f *finder) keep(at ref) {
	f.kept[f.keeps] = at
	f.keeps++
}

// fieldSize is the size of an event of n bytes as a field of a Msg.
func fieldSize(n uint32) int { return 1 + protowire.SizeVarint(uint64(n)) + int(n) }

// lookApart is look without the shard's lock: the next entries are pinned meanwhile.
func (f *finder) lookApart(s *shard) {
	all, next, end := f.pinned(s)
	var kept [holdIDs]bool
	defer func() { s.unpinRest(all, &kept) }() // q may panic
	f.cur.large = false
	for i := range all {
		x := s.entry(all[i].at)
		if !f.matches(x, all[i].kept) {
			continue
		}
		if !f.take(x) {
			next, end = all[i].id, false
			break
		}
		if f.stream != nil {
			kept[i] = true
			f.keep(all[i].at)
		}
	}
	f.rest(s, next, end)
}

// pinned are the next candidates, pinned.
func (f *finder) pinned(s *shard) (all []candidate, next uint32, end bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !f.cur.inside {
		f.cur.inside, f.cur.born = true, s.nextBirths()
	}
	found, next, end := f.candidates(s)
	all = found[:0]
	bytes := 0
	for _, c := range found {
		x := s.entry(c.at)
		if f.tooYoung(x) {
			continue
		}
		if bytes += int(x.size); bytes > holdBytes && len(all) > 0 {
			next, end = c.id, false
			break
		}
		c.kept = x.fields()
		s.pin(x, c.at)
		all = append(all, c)
	}
	return all, next, end
}

// unpinRest unpins the candidates that are not kept.
func (s *shard) unpinRest(all []candidate, kept *[holdIDs]bool) {
	s.mu.Lock()
	for i := range all {
		if !kept[i] {
			s.unpin(all[i].at)
		}
	}
	s.mu.Unlock()
}

// candidates are the next entries to look at, in the order of their ids, which is one
// that stays, whatever is inserted, moved or deleted between two calls; next is where
// to go on behind them, and end says that there is nothing more.
func (f *finder) candidates(s *shard) (found []candidate, next uint32, end bool) {
	most := min(f.hold, f.budget)
	next = uint32(f.cur.next)
	found = f.found[:0]
	switch p := f.cur.plan; {
	case p == nil || p.phase == fromAll:
		found, next, end = s.nextIDs(found, next, most)
	case p.isKey:
		k := p.key()
		if _, x := s.find(k.key.slot, k.host, k.service); x != nil {
			found = append(found, candidate{id: x.id, at: s.ids.ref(x.id)})
		}
		end = true
	case p.phase == fromTerm:
		at, ok := s.findTerm(&p.atoms[p.chosen[0]].termKey)
		if !ok {
			return found, next, true
		}
		posting := termAt(&at).posting
		for len(found) < most {
			id, ok := s.terms.slab.next(&posting, next)
			if !ok {
				end = true
				break
			}
			found, next = append(found, candidate{id: id, at: s.ids.ref(id)}), id+1
		}
	default:
		next = max(next, p.set.first)
		for skipped := 0; len(found) < most && skipped < holdSkipped; {
			id, ok := p.set.next(next)
			if !ok {
				end = p.set.end() >= p.end
				if !end && len(found) == 0 {
					p.beginSet(p.set.end())
				}
				break
			}
			next = id + 1
			if at := s.refOf(id); at != 0 {
				found = append(found, candidate{id: id, at: at})
			} else {
				skipped++
			}
		}
	}
	s.touch(found)
	return found, next, end
}

// refOf is where the entry of an id is; 0 is nowhere.
func (s *shard) refOf(id uint32) ref {
	if id >= s.ids.used {
		return 0
	}
	return s.ids.ref(id)
}

// nextIDs appends the entries with ids from next on.
func (s *shard) nextIDs(found []candidate, next uint32, most int) (_ []candidate, _ uint32, end bool) {
	last := min(uint64(next)+holdSkipped, uint64(s.ids.used))
	for uint64(next) < last && len(found) < most {
		if at := s.ids.ref(next); at != 0 {
			found = append(found, candidate{id: next, at: at})
		}
		next++
	}
	return found, next, next >= s.ids.used
}

// touch loads entries, so that the cache misses overlap.
func (s *shard) touch(found []candidate) {
	sum := uint64(0)
	for i := range found {
		sum += s.pages.touch(found[i].at, cacheLine)
	}
	s.touched = sum
}

// nextBirths makes entries that are born from now on distinct from all before,
// and returns what they get as born.
func (s *shard) nextBirths() uint64 {
	s.births++
	if s.births > maxBorn {
		// After so many searches all are made equal again. One that is under way
		// may come upon a key twice that is deleted and inserted meanwhile.
		s.births = 1
		for id := range s.ids.used {
			if at := s.ids.ref(id); at != 0 {
				s.entry(at).setBorn(0)
			}
		}
	}
	return s.births
}
