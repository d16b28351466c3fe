package index

import (
	"fmt"
	"slices"
	"testing"
	"unsafe"

	"darboux/handlers/riemann"
)

// newIndex returns an Index that is checked and closed at the end of the test.
func newIndex(t testing.TB, cfg Config) *Index {
	t.Helper()
	x := New(cfg)
	t.Cleanup(func() {
		x.mustHold(t)
		x.Close()
	})
	return x
}

// mustHold fails the test if an invariant of the index does not hold.
func (x *Index) mustHold(t testing.TB) {
	t.Helper()
	if err := x.check(); err != nil {
		t.Fatalf("an invariant does not hold: %v", err)
	}
}

// check looks at all of the index and returns the first invariant that does not
// hold. Nobody may change the index meanwhile.
func (x *Index) check() error {
	x.streams.wait()
	entries, pages := 0, int64(0)
	for i, s := range x.shards {
		if err := s.check(); err != nil {
			return fmt.Errorf("shard %d: %w", i, err)
		}
		entries += s.ids.live
		pages += s.events.held>>pageShift + s.terms.slab.held>>pageShift
		pages += int64(s.keys.segments+s.terms.segments())*segmentPages + int64(len(*s.ids.parts.Load()))*idPartPages
	}
	if n := x.entries.Load(); n != int64(entries) {
		return fmt.Errorf("%d entries are counted, there are %d", n, entries)
	}
	if n := x.pages.inUse.Load(); n != pages {
		return fmt.Errorf("%d pages are in use, but the shards have %d", n, pages)
	}
	if err := x.checkPins(); err != nil {
		return err
	}
	return x.pages.check()
}

func (s *shard) check() error {
	if err := s.keys.check(); err != nil {
		return fmt.Errorf("keys: %w", err)
	}
	for f := range s.terms.tables {
		if err := s.terms.tables[f].check(); err != nil {
			return fmt.Errorf("terms of field %d: %w", f, err)
		}
	}
	if err := s.checkEntries(); err != nil {
		return err
	}
	if err := s.checkIDs(); err != nil {
		return err
	}
	if err := s.checkTerms(); err != nil {
		return err
	}
	if err := s.checkRecent(); err != nil {
		return err
	}
	for name, slab := range map[string]*slab{"events": &s.events, "postings": &s.terms.slab} {
		if err := slab.check(); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}

// checkEntries looks at each entry by its id.
func (s *shard) checkEntries() error {
	live, stored, taken := 0, int64(0), int64(0)
	for id := range s.ids.used {
		at := s.ids.ref(id)
		if at == 0 {
			continue
		}
		live++
		x := s.entry(at)
		stored += int64(x.size)
		taken += int64(x.room()) + entrySize
		if err := s.checkEntry(id, at, x); err != nil {
			return fmt.Errorf("entry %d: %w", id, err)
		}
	}
	switch {
	case live != s.ids.live || live != s.keys.live:
		return fmt.Errorf("%d entries, but %d ids and %d keys are live", live, s.ids.live, s.keys.live)
	case stored != s.counts.StoredBytes:
		return fmt.Errorf("%d bytes are stored, but %d counted", stored, s.counts.StoredBytes)
	case taken+s.counts.OrphanBytes != s.events.taken:
		return fmt.Errorf("entries take %d bytes and orphans %d, but %d are handed out", taken, s.counts.OrphanBytes, s.events.taken)
	case s.prepaid != 0:
		return fmt.Errorf("%d bytes are taken for an orphan that is none", s.prepaid)
	}
	return nil
}

func (s *shard) checkEntry(id uint32, at ref, x *entry) error {
	var e riemann.Event
	if err := e.ParseStored(x.stored(), x.fields()); err != nil {
		return err
	}
	hash := s.index.hasher.key(e.HostBytes(), e.ServiceBytes())
	_, found := s.find(hash.slot, e.HostBytes(), e.ServiceBytes())
	switch {
	case x.id != id:
		return fmt.Errorf("it says it is %d", x.id)
	case s.index.shards[s.index.shardOf(&hash)] != s:
		return fmt.Errorf("it is in the wrong shard")
	case found != x || keySlotAt(ptr(s.locate(hash.slot, at))).at != at:
		return fmt.Errorf("its key is not found")
	case string(x.host()) != string(e.HostBytes()) || string(x.service()) != string(e.ServiceBytes()) || string(x.state()) != string(e.StateBytes()):
		return fmt.Errorf("its spans are wrong")
	case *s.ids.tick(id) != tickOf(e.Deadline(0, 0)):
		return fmt.Errorf("its tick is %d, should be %d", *s.ids.tick(id), tickOf(e.Deadline(0, 0)))
	case x.born() > s.births:
		return fmt.Errorf("it is born in the future")
	case !slices.Equal(x.tagTexts(), tagsOf(&e)):
		return fmt.Errorf("its tags are %q, should be %q", x.tagTexts(), tagsOf(&e))
	case x.size > uint32(x.room()):
		return fmt.Errorf("it is larger than its chunk")
	}
	return nil
}

func ptr[T any](v T) *T { return &v }

func (x *entry) tagTexts() (tags []string) {
	for _, tag := range x.tags() {
		tags = append(tags, string(tag))
	}
	return tags
}

func tagsOf(e *riemann.Event) (tags []string) {
	for it := e.Tags(); it.Next(); {
		tags = append(tags, string(it.Tag))
	}
	return tags
}

func (s *shard) checkIDs() error {
	for block, earliest := range s.ids.earliest {
		for id := uint32(block) << blockShift; id < min(uint32(block+1)<<blockShift, s.ids.used); id++ {
			if s.ids.ref(id) != 0 && *s.ids.tick(id) < earliest {
				return fmt.Errorf("id %d is due before its block is looked at", id)
			}
		}
	}
	free := map[uint32]bool{}
	for next := s.ids.freed; next != 0; next = *s.ids.tick(next - 1) - lastTick - 1 {
		if free[next] || s.ids.ref(next-1) != 0 {
			return fmt.Errorf("id %d is free twice, or in use as well", next-1)
		}
		free[next] = true
	}
	if len(free)+s.ids.live != int(s.ids.used) {
		return fmt.Errorf("%d ids are free and %d live, but %d are used", len(free), s.ids.live, s.ids.used)
	}
	return nil
}

// live is the number of terms.
func (t *terms) live() (n int) {
	for f := range t.tables {
		n += t.tables[f].live
	}
	return n
}

// segments is the number of all tables' segments.
func (t *terms) segments() (n int) {
	for f := range t.tables {
		n += t.tables[f].segments
	}
	return n
}

// termName is a term for messages and as a map's key.
type termName struct {
	field field
	text  string
}

// checkTerms compares the postings with those that the entries call for.
func (s *shard) checkTerms() error {
	want := map[termName][]uint32{}
	var crowded []uint32
	for id := range s.ids.used {
		at := s.ids.ref(id)
		if at == 0 || s.index.withoutPostings {
			continue
		}
		x := s.entry(at)
		for f, text := range map[field][]byte{hostField: x.host(), serviceField: x.service(), stateField: x.state()} {
			if text != nil {
				want[termName{f, string(text)}] = append(want[termName{f, string(text)}], id)
			}
		}
		tags := x.tagTexts()
		if len(tags) > mostTags {
			crowded = append(crowded, id)
			continue
		}
		slices.Sort(tags)
		for _, tag := range slices.Compact(tags) {
			want[termName{tagField, tag}] = append(want[termName{tagField, tag}], id)
		}
	}
	if got := s.terms.slab.all(&s.terms.crowded); !slices.Equal(got, crowded) {
		return fmt.Errorf("crowded entries are %v, should be %v", got, crowded)
	}
	if len(want) != s.terms.live() {
		return fmt.Errorf("there are %d terms, should be %d", s.terms.live(), len(want))
	}
	for name, ids := range want {
		if err := s.checkTerm(name, ids); err != nil {
			return fmt.Errorf("term %v: %w", name, err)
		}
	}
	return nil
}

func (s *shard) checkTerm(name termName, ids []uint32) error {
	k := s.index.hasher.termKey(name.field, []byte(name.text))
	p, found := s.findTerm(&k)
	if !found {
		return fmt.Errorf("it is missing")
	}
	if !s.witnesses(termAt(&p).witness, &k) {
		return fmt.Errorf("its witness says something else")
	}
	t := termAt(&p)
	got := s.terms.slab.all(&t.posting)
	switch {
	case t.len() != len(ids) || !slices.Equal(got, ids):
		return fmt.Errorf("it has %d ids %v, should have %v", t.len(), got, ids)
	case !slices.Contains(ids, t.witness.id()):
		return fmt.Errorf("its witness %d is none of its entries", t.witness.id())
	}
	return nil
}

// checkRecent looks for the terms that are known of the last state and the last tags.
func (s *shard) checkRecent() error {
	for f := range s.terms.recent {
		r := &s.terms.recent[f]
		if len(r.terms) == 0 {
			continue
		}
		texts := [][]byte{r.text}
		if field(f) == tagField {
			texts = nil
			for tag, rest, ok := nextTag(r.text); ok; tag, rest, ok = nextTag(rest) {
				texts = append(texts, tag)
			}
		}
		if len(texts) != len(r.terms) {
			return fmt.Errorf("%d terms are known of %q", len(r.terms), r.text)
		}
		for i, text := range texts {
			k := s.index.hasher.termKey(field(f), text)
			if p, found := s.findTerm(&k); !found || termAt(&p) != r.terms[i] {
				return fmt.Errorf("the term %q is not where it is taken to be", text)
			}
		}
	}
	return nil
}

// all are the ids of a posting.
func (s *slab) all(p *posting) (ids []uint32) {
	for id, ok := s.next(p, 0); ok; id, ok = s.next(p, id+1) {
		ids = append(ids, id)
	}
	return ids
}

// check finds every live slot from where it wants to be, and counts.
func (t *table) check() error {
	d := t.dir.Load()
	if d == nil {
		if t.live != 0 || t.segments != 0 {
			return fmt.Errorf("an empty table has %d slots in %d segments", t.live, t.segments)
		}
		return nil
	}
	live, segments := 0, map[*segment]bool{}
	for i, seg := range d.segments {
		if d.bases[i] != t.pages.at(seg.at) {
			return fmt.Errorf("the directory leads to another segment's memory")
		}
		if segments[seg] {
			continue
		}
		segments[seg] = true
		n, err := t.checkSegment(d, seg)
		if err != nil {
			return err
		}
		live += n
	}
	if live != t.live || len(segments) != t.segments {
		return fmt.Errorf("%d slots in %d segments, but %d in %d counted", live, len(segments), t.live, t.segments)
	}
	return nil
}

func (t *table) checkSegment(d *directory, seg *segment) (live int, err error) {
	base := t.pages.at(seg.at)
	for off := uintptr(0); off < 1<<segmentShift; off += 1 << t.slotShift {
		at := (*slot)(unsafe.Add(base, off))
		if at.used == 0 {
			continue
		}
		live++
		if d.segments[at.hash>>d.shift] != seg {
			return 0, fmt.Errorf("a slot is in the wrong segment")
		}
		p := t.probe(at.hash)
		for p.more() && p.slot() != at {
			p.next()
		}
		if p.slot() != at {
			return 0, fmt.Errorf("a slot is not found from where it wants to be")
		}
	}
	if live != seg.live || live > t.mostLive() {
		return 0, fmt.Errorf("a segment has %d slots, %d counted, %d allowed", live, seg.live, t.mostLive())
	}
	return live, nil
}

// check walks the lists of spans.
func (s *slab) check() error {
	for c := range s.classes {
		cl := &s.classes[c]
		free := 0
		for list, at := range cl.lists {
			for prev := ref(0); at != 0; prev, at = at, s.span(at).next {
				sp := s.span(at)
				if sp.prev != prev || int(sp.list) != list || int(sp.class) != c || int(sp.used)*4/sp.class.perSpan() != list {
					return fmt.Errorf("class %d: the span at %d is in the wrong list", c, at)
				}
				n := 0
				s.eachTaken(at, func(ref) { n++ })
				if n != int(sp.used) {
					return fmt.Errorf("class %d: the span at %d has %d chunks out, %d counted", c, at, n, sp.used)
				}
				free += classID(c).perSpan() - n
			}
		}
		if free != cl.free {
			return fmt.Errorf("class %d: %d chunks are free, %d counted", c, free, cl.free)
		}
	}
	return nil
}

// check walks the lists of free blocks: together with what is in use they are all
// pages there are, and no two buddies lie apart.
func (p *pages) check() error {
	free, dirty := int64(0), int64(0)
	for _, clean := range []bool{false, true} {
		for order := range arenaOrder + 1 {
			for prev, page := uint32(0), *p.head(clean, order); page != 0; prev, page = page, p.state(page).next {
				s := p.state(page)
				if !s.free || s.clean != clean || int(s.order) != order || s.prev != prev || page%(1<<order) != 0 {
					return fmt.Errorf("the free block at page %d is in the wrong list", page)
				}
				if order < arenaOrder {
					if b := p.state(page ^ 1<<order); b.free && int(b.order) == order && b.clean == clean {
						return fmt.Errorf("the free block at page %d is apart from its buddy", page)
					}
				}
				free += 1 << order
				if !clean {
					dirty += 1 << order
				}
			}
		}
	}
	all := int64(len(p.arenas)) * pagesPerArena
	if all > 0 {
		all-- // the very first page stays unused
	}
	if free+p.inUse.Load() != all || dirty != p.dirty {
		return fmt.Errorf("%d pages are free, %d of them dirty (%d counted), and %d in use, of %d", free, dirty, p.dirty, p.inUse.Load(), all)
	}
	return nil
}
