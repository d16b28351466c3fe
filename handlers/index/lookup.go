package index

import (
	"bytes"
	"unsafe"
)

// lookup is how far a plan has come in the shard at hand.
type lookup struct {
	phase  phase
	at     int    // counting: the atom to go on with; collecting: the place in chosen
	chosen []int  // atoms of the way that was chosen
	other  []int  // scratch
	from   uint32 // collecting: ids from here on are still to be collected of the atom, or of the terms, at hand
	end    uint32 // ids from here on are too young to be looked for
	set    idSet  // of some of the ids below end; when it is gone through, it becomes that of the next ones
	walk   walk
}

// phase is what is done in a shard, one thing after the other.
type phase uint8

const (
	countAtoms phase = iota // how many entries each atom names
	collectIDs              // the ids of those that the chosen ones name, into set
	fromSet                 // looking at the entries of set
	fromTerm                // looking at the entries of the one term that is chosen
	fromAll                 // looking at all entries
)

const (
	// holdAtoms is how many atoms are counted, or terms gone through, under one lock.
	holdAtoms = 32
	// fewTerms is up to how many terms of a shard cost no more to go through than as many
	// entries.
	fewTerms = 1024
	// windowIDs is over how many ids postings are collected under one lock.
	windowIDs = 16 << groupShift
	// setIDs is how many ids a set has room for: a running search takes no more
	// memory than that for them, 16 KiB.
	setIDs = 32 << groupShift
)

// prepare does the next step of finding out which entries of s to look at, and reports
// whether there is more of that to do.
func (p *plan) prepare(s *shard) bool {
	if p.phase == collectIDs {
		s.mu.Lock()
		p.collect(s)
		s.mu.Unlock()
		return p.phase == collectIDs
	}
	s.mu.Lock()
	counted := p.count(s)
	live, used, crowded := s.ids.live, s.ids.used, s.terms.crowded.len() > 0
	s.mu.Unlock()
	if counted {
		p.choose(live, used, crowded)
	}
	return p.phase <= collectIDs
}

// begin lets the plan begin in another shard.
func (p *plan) begin() {
	p.phase, p.at = countAtoms, 0
}

// count counts what some more atoms name in s, and reports whether these were the last.
func (p *plan) count(s *shard) bool {
	end := min(p.at+holdAtoms, len(p.atoms))
	for ; p.at < end; p.at++ {
		a := &p.atoms[p.at]
		switch {
		case a.isKey:
			a.count = 1
		case a.prefix:
			a.count = walkCost(s.terms.tables[a.field].live) + s.ids.live/prefixPart
		default:
			a.count = s.countTerm(&a.termKey)
		}
	}
	return p.at == len(p.atoms)
}

// prefixPart is the part of the entries, as a divisor, that a prefix is taken to name.
const prefixPart = 16

// walkCost is what it costs to go through so many terms, in entries. Each of many misses the
// caches for its slot and for its witness, as an entry that is looked at in its turn doesn't:
// so half as many terms as entries take as long as all entries.
func walkCost(terms int) int {
	if terms <= fewTerms {
		return terms
	}
	return 4 * terms
}

// countTerm is how many entries may have a term.
func (s *shard) countTerm(k *termKey) (n int) {
	if k.field == tagField {
		n = s.terms.crowded.len()
	}
	if p, found := s.findTerm(k); found {
		n += termAt(&p).len()
	}
	return n
}

// choose takes the way that names the fewest entries. If they come out of one posting,
// that is gone through; otherwise their ids are collected first, so that none comes up
// twice. If it were all entries twice over, all entries are looked at. The shard has so many
// live entries and used ids; crowded tells whether some of its entries have no postings
// of their tags.
func (p *plan) choose(live int, used uint32, crowded bool) {
	least := -1
	for _, w := range p.ways {
		var n int
		if p.other, n = p.cheapest(w, p.other[:0]); least < 0 || n < least {
			p.chosen, p.other, least = p.other, p.chosen, n
		}
	}
	switch {
	case least > 2*live:
		p.phase = fromAll
	case len(p.chosen) == 1 && p.atoms[p.chosen[0]].single(crowded):
		p.phase = fromTerm
	default:
		p.end = used
		p.beginSet(0)
	}
}

// beginSet begins to collect ids from first on.
func (p *plan) beginSet(first uint32) {
	p.phase = collectIDs
	p.set.begin(first, min(first+setIDs, p.end))
	p.at, p.from = 0, first
	p.walk.begin(p)
}

// single reports whether all that the atom names in a shard is in one posting.
func (a *atom) single(crowded bool) bool {
	return !a.isKey && !a.prefix && (a.field != tagField || !crowded)
}

// cheapest appends to chosen the atoms that together name what a way does, and returns
// how many entries they name, or terms are to be gone through: which is done once for
// all prefixes of a field.
func (p *plan) cheapest(way span32, chosen []int) (_ []int, n int) {
	var walked [termFields]bool
	for _, c := range p.choices[way.from:way.to] {
		best := c.from
		for i := c.from + 1; i < c.to; i++ {
			if p.atoms[i].count < p.atoms[best].count {
				best = i
			}
		}
		a := &p.atoms[best]
		if a.prefix && walked[a.field] {
			chosen = append(chosen, int(best))
			continue
		}
		walked[a.field] = walked[a.field] || a.prefix
		chosen, n = append(chosen, int(best)), n+a.count
	}
	return chosen, n
}

// collect adds to the set what comes next: of the chosen atoms first the keys and
// terms, then of each field with prefixes the terms that have one of them.
func (p *plan) collect(s *shard) {
	for p.at < len(p.chosen) && p.atoms[p.chosen[p.at]].prefix {
		p.at++
	}
	switch {
	case p.at < len(p.chosen):
		p.collectAtom(s, &p.atoms[p.chosen[p.at]])
	case !p.walk.next(p, s):
		p.phase = fromSet
	}
}

// collectAtom adds the next ids of an atom to the set, and goes on to the next atom
// behind its last.
func (p *plan) collectAtom(s *shard, a *atom) {
	to := min(p.from+windowIDs, p.set.end())
	more := false
	switch {
	case a.isKey:
		if _, x := s.find(a.key.slot, a.host, a.service); x != nil {
			p.set.add(x.id)
		}
	default:
		if at, found := s.findTerm(&a.termKey); found {
			more = s.terms.slab.addTo(&p.set, &termAt(&at).posting, p.from, to)
		}
		if a.field == tagField && s.terms.slab.addTo(&p.set, &s.terms.crowded, p.from, to) {
			more = true
		}
	}
	if p.from = to; !more || to == p.set.end() {
		p.at, p.from = p.at+1, p.set.first
	}
}

// A walk goes through the terms of fields for those that begin with a prefix. While it
// goes on, terms may come, go and move: so it goes by their hashes, segment by segment.
// A term that is there all the while is met.
type walk struct {
	prefixes [termFields][][]byte
	field    field  // whose terms are gone through
	hash     uint64 // the first hash that is still to be met
	met      []met  // and to be looked at
}

// met is a term that was met: its hash, and who was its witness then.
type met struct {
	hash    uint32
	witness witness
}

// begin takes up the prefixes among the chosen atoms.
func (w *walk) begin(p *plan) {
	for f := range w.prefixes {
		w.prefixes[f] = w.prefixes[f][:0]
	}
	for _, i := range p.chosen {
		if a := &p.atoms[i]; a.prefix {
			w.prefixes[a.field] = append(w.prefixes[a.field], a.text)
		}
	}
	w.field, w.hash, w.met = 0, 0, w.met[:0]
}

// next does a step, and reports whether there is more to do.
func (w *walk) next(p *plan, s *shard) bool {
	if len(w.met) > 0 {
		w.visit(p, s)
		return true
	}
	for w.field < termFields && (len(w.prefixes[w.field]) == 0 || w.hash > uint64(^uint32(0))) {
		w.field, w.hash = w.field+1, 0
	}
	if w.field == termFields {
		return false
	}
	w.met, w.hash = s.terms.meet(w.met, w.field, uint32(w.hash))
	return true
}

// meet appends to dst the terms of a field in the segment of their table that hash belongs
// to, and returns the first hash that belongs to the next segment. So all terms can be gone
// through in steps, whatever is inserted, removed or split between them.
func (t *terms) meet(dst []met, f field, hash uint32) (_ []met, next uint64) {
	d := t.tables[f].dir.Load()
	if d == nil {
		return dst, 1 << 32
	}
	seg := d.segments[hash>>d.shift]
	base := t.slab.pages.at(seg.at)
	for off := uintptr(0); off < 1<<segmentShift; off += 1 << termShift {
		if t := (*term)(unsafe.Add(base, off)); t.count != 0 {
			dst = append(dst, met{t.hash, t.witness})
		}
	}
	return dst, (uint64(hash)>>(32-seg.depth) + 1) << (32 - seg.depth)
}

// visit looks at the next of the terms that were met, the last ones first. They may have
// moved meanwhile, so each is looked for by its hash.
func (w *walk) visit(p *plan, s *shard) {
	n := len(w.met) - min(holdAtoms, len(w.met))
	s.touchWitnesses(w.met[n:])
	for len(w.met) > n {
		last := len(w.met) - 1
		to := min(p.from+windowIDs, p.set.end())
		if w.add(p, s, w.met[last].hash, to) && to < p.set.end() {
			p.from = to
			return
		}
		p.from = p.set.first
		w.met = w.met[:last]
	}
}

// add adds the ids of the terms with that hash and a prefix, from p.from up to to, and
// reports whether there are more behind.
func (w *walk) add(p *plan, s *shard, hash uint32, to uint32) (more bool) {
	at := s.terms.tables[w.field].probe(hash)
	for ; at.more(); at.next() {
		t := termAt(&at)
		if t.hash == hash && w.wants(s, t) && s.terms.slab.addTo(&p.set, &t.posting, p.from, to) {
			more = true
		}
	}
	return more
}

func (w *walk) wants(s *shard, t *term) bool {
	x := s.entry(s.ids.ref(t.witness.id()))
	text := x.host()
	if w.field == serviceField {
		text = x.service()
	}
	for _, prefix := range w.prefixes[w.field] {
		if bytes.HasPrefix(text, prefix) {
			return true
		}
	}
	return false
}

// touchWitnesses loads the entries that say what terms are, so that the cache misses
// overlap.
func (s *shard) touchWitnesses(all []met) {
	sum := uint64(0)
	for i := range all {
		sum += s.pages.touch(s.refOf(all[i].witness.id()), 2*cacheLine)
	}
	s.touched = sum
}
