package index

import "darboux/handlers/riemann"

// termSet is a set of an entry's fields that have postings.
type termSet uint8

const (
	hostTerm    = termSet(1) << hostField
	serviceTerm = termSet(1) << serviceField
	stateTerm   = termSet(1) << stateField
	tagTerms    = termSet(1) << tagField

	allTerms = hostTerm | serviceTerm | stateTerm | tagTerms
)

// changedTerms are those of x's terms that w changes. Its key stays.
func (s *shard) changedTerms(x *entry, w *write) (changed termSet) {
	if s.index.withoutPostings {
		return 0
	}
	if (x.kept^w.kept)&riemann.HasState != 0 || string(x.state()) != string(w.event.StateBytes()) {
		changed |= stateTerm
	}
	if !x.sameTags(w.kept, w.stored, w.spans[tagsSpan]) {
		changed |= tagTerms
	}
	return changed
}

// touchStates loads what a change of an entry's state changes, so that the cache misses of
// the old state's posting and the new one's overlap.
func (s *shard) touchStates(x *entry, state []byte) {
	h := &s.index.hasher
	before, after := h.termKey(stateField, x.state()), h.termKey(stateField, state)
	s.touched = s.touchMember(&before, x.id) + s.touchMember(&after, x.id)
}

// touchMember loads where an id is, or would be, in a term's posting of many, and the
// term's witness.
func (s *shard) touchMember(k *termKey, id uint32) uint64 {
	t := s.terms.touchTerm(k.field, k.hash)
	if t.count&manyForm == 0 {
		return 0
	}
	sum := s.pages.touch(s.ids.ref(t.witness.id()), cacheLine)
	groups := s.terms.slab.groups(&t.posting)
	if i, found := findGroup(groups, id); found && groups[i].count&bitmapForm != 0 {
		sum += s.terms.slab.bitmap(&groups[i])[id&lowMask/64]
	}
	return sum
}

// addTerms puts a new entry into its postings.
func (s *shard) addTerms(x *entry, w *write) {
	if s.index.withoutPostings {
		return
	}
	var keys [2]termKey
	for i := range s.keyTerms(w.event.HostBytes(), w.event.ServiceBytes(), &w.hash, &keys) {
		s.addTerm(&keys[i], x.id)
	}
	s.addChangedTerms(x, stateTerm|tagTerms)
}

// addChangedTerms puts an entry into the postings of its state and tags, as far
// as they are in which.
func (s *shard) addChangedTerms(x *entry, which termSet) {
	if which&stateTerm != 0 && x.kept&riemann.HasState != 0 {
		k := s.index.hasher.termKey(stateField, x.state())
		s.addTerm(&k, x.id)
	}
	if which&tagTerms == 0 || x.kept&riemann.HasTags == 0 {
		return
	}
	if x.crowded() {
		s.terms.slab.add(&s.terms.crowded, x.id)
		return
	}
	place := 0
	for tag, rest, ok := nextTag(x.tagFields()); ok; tag, rest, ok = nextTag(rest) {
		k := s.index.hasher.termKey(tagField, tag)
		k.place = place
		s.addTerm(&k, x.id)
		place++
	}
}

// removeTerms takes an entry out of the postings of those fields. It still has
// its bytes.
func (s *shard) removeTerms(x *entry, which termSet, hash *keyHash) {
	if s.index.withoutPostings {
		return
	}
	if which&hostTerm != 0 {
		var keys [2]termKey
		for i := range s.keyTerms(x.host(), x.service(), hash, &keys) {
			s.removeTerm(&keys[i], x.id)
		}
	}
	if which&stateTerm != 0 && x.kept&riemann.HasState != 0 {
		k := s.index.hasher.termKey(stateField, x.state())
		s.removeTerm(&k, x.id)
	}
	if which&tagTerms == 0 || x.kept&riemann.HasTags == 0 {
		return
	}
	if x.crowded() {
		s.terms.slab.remove(&s.terms.crowded, x.id)
		return
	}
	for tag, rest, ok := nextTag(x.tagFields()); ok; tag, rest, ok = nextTag(rest) {
		k := s.index.hasher.termKey(tagField, tag)
		s.removeTerm(&k, x.id)
	}
}

// keyTerms fills in the terms of a host and a service, those of them that are not
// missing, and returns their number.
func (s *shard) keyTerms(host, service []byte, hash *keyHash, keys *[2]termKey) (n int) {
	h := &s.index.hasher
	if host != nil {
		keys[n] = termKey{field: hostField, hash: h.term(hash.host), text: host}
		n++
	}
	if service != nil {
		keys[n] = termKey{field: serviceField, hash: h.term(hash.service), text: service}
		n++
	}
	return n
}
