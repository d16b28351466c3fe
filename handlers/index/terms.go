package index

import "unsafe"

// field is a field that postings are kept for.
type field uint8

const (
	hostField field = iota
	serviceField
	stateField
	tagField
	termFields
)

// mostTags is how many tags of an event have postings. An event with more has none
// of them there but is in terms.crowded: otherwise a single event of a megabyte
// could make hundreds of thousands.
const mostTags = 64

// terms are the postings of a shard: for each host, service, state and tag the
// entries that have it. Each field has a table of its own, so that who looks for all
// services of a kind doesn't go through the hosts. A term's text is kept nowhere: each term has a witness,
// one of its entries, and what the term is can be read there; of a tag the term
// knows as well the how manieth of the witness's it is.
//
// So while an entry changes, its terms are removed before its bytes are
// overwritten, and added afterwards.
type terms struct {
	tables  [termFields]table
	slab    slab
	crowded posting // entries with more than mostTags tags
	recent  [termFields]recent
}

// term is a slot of the table of terms.
type term struct {
	hash    uint32
	posting // count comes first: it is what makes the slot a used one
	witness witness
}

const termShift = 4

// witness is the id of an entry and, above it, a place among its tags.
type witness uint32

const (
	witnessShift = 26

	// mostIDs is how many ids a shard can give out, so that a witness has room
	// for them.
	mostIDs = 1 << witnessShift
)

func (w witness) id() uint32 { return uint32(w) % mostIDs }

func (w witness) place() int { return int(w >> witnessShift) }

var _ = [1]struct{}{}[mostIDs*mostTags-1<<32]

func (t *terms) begin(p *pages) {
	for f := range t.tables {
		t.tables[f].begin(p, termShift)
	}
	t.slab = newSlab(p)
}

// reset frees all of it. There must be no terms.
func (t *terms) reset() {
	for f := range t.tables {
		t.tables[f].reset()
	}
}

// termKey is a term as it is looked for.
type termKey struct {
	field field
	place int // of a tag: the how manieth of the entry's it is, if it is added
	hash  uint32
	text  []byte
}

func (h *hasher) termKey(f field, text []byte) termKey {
	return termKey{field: f, hash: h.term(h.text(h.seed, text)), text: text}
}

func termAt(p *probe) *term { return (*term)(unsafe.Pointer(p.slot())) }

// find looks for a term; p is where it is, or where it could be put.
func (s *shard) findTerm(k *termKey) (p probe, found bool) {
	for p = s.terms.tables[k.field].probe(k.hash); p.more(); p.next() {
		if t := termAt(&p); t.hash == k.hash && s.witnesses(t.witness, k) {
			return p, true
		}
	}
	return p, false
}

// witnesses reports whether that is what the witness says.
func (s *shard) witnesses(w witness, k *termKey) bool {
	x := s.entry(s.ids.ref(w.id()))
	switch k.field {
	case hostField:
		return string(x.host()) == string(k.text)
	case serviceField:
		return string(x.service()) == string(k.text)
	case stateField:
		return string(x.state()) == string(k.text)
	}
	return string(x.tagAt(w.place())) == string(k.text)
}

// addTerm puts an entry into the posting of a term, which it returns.
func (s *shard) addTerm(k *termKey, id uint32) *term {
	p, found := s.findTerm(k)
	if found {
		s.terms.slab.add(&termAt(&p).posting, id)
		return termAt(&p)
	}
	s.terms.recent[k.field].forget()
	t := (*term)(unsafe.Pointer(s.terms.tables[k.field].insert(k.hash)))
	s.terms.slab.add(&t.posting, id)
	t.witness = witness(id | uint32(k.place)<<witnessShift)
	return t
}

// removeTerm takes an entry out of the posting of a term, if it is there, and returns the
// term; nil if that is gone with it. The entry still has its bytes.
func (s *shard) removeTerm(k *termKey, id uint32) *term {
	p, found := s.removeMember(k, id)
	if !found {
		return nil
	}
	t := termAt(&p)
	if t.len() == 0 {
		s.terms.recent[k.field].forget()
		s.terms.tables[k.field].remove(p)
		return nil
	}
	if t.witness.id() == id {
		t.witness = s.nextWitness(k.field, t)
	}
	return t
}

// removeMember takes an entry out of a term's posting, and reports whether it was
// there and where the term is. Whether the term is the right one need mostly not be looked
// up at its witness, which is somewhere else in memory: an entry has one host, one service,
// one state, so of several terms with the same hash that one is meant that has the entry;
// its tags' terms mostly are the only ones with their hashes. (Where that one is another
// tag's, the tag was removed before, because the entry has it twice.)
func (s *shard) removeMember(k *termKey, id uint32) (p probe, found bool) {
	if k.field == tagField {
		if p, found = s.terms.tables[tagField].only(k.hash); !found {
			p, found = s.findTerm(k)
		}
		return p, found && s.terms.slab.remove(&termAt(&p).posting, id)
	}
	for p = s.terms.tables[k.field].probe(k.hash); p.more(); p.next() {
		if t := termAt(&p); t.hash == k.hash && s.terms.slab.remove(&t.posting, id) {
			return p, true
		}
	}
	return p, false
}

// nextWitness is another witness for a term than the one that it still has, which is no
// longer in its posting.
func (s *shard) nextWitness(f field, t *term) witness {
	id, _ := s.terms.slab.next(&t.posting, 0)
	if f != tagField {
		return witness(id)
	}
	tag := s.entry(s.ids.ref(t.witness.id())).tagAt(t.witness.place())
	place := s.entry(s.ids.ref(id)).placeOfTag(tag)
	return witness(id | uint32(place)<<witnessShift)
}

// touchTerm loads the slot where a term wants to be, and returns it, or an empty one if
// another term is in it: a hint, as with table.touch.
func (t *terms) touchTerm(f field, hash uint32) term {
	p := t.tables[f].probe(hash)
	if x := *termAt(&p); x.hash == hash {
		return x
	}
	return term{}
}

// touchMember loads what of a posting is changed with an id.
func (s *slab) touchMember(p *posting, id uint32) uint64 {
	if p.count&manyForm == 0 {
		return s.pages.touch(p.chunk(), cacheLine)
	}
	groups := s.groups(p)
	if i, found := findGroup(groups, id); found && groups[i].count&bitmapForm != 0 {
		return s.bitmap(&groups[i])[id&lowMask/64]
	}
	return 0
}

// chunk is where the ids are, if they have a chunk.
func (p *posting) chunk() ref {
	if p.len() > 1 {
		return p.ids
	}
	return 0
}
