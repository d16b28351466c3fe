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

// addTerms puts a new entry into its postings.
func (s *shard) addTerms(x *entry, hash *keyHash) {
	if s.index.withoutPostings {
		return
	}
	s.eachKeyTerm(x, hash, func(k *termKey) { s.addTerm(k, x.id) })
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
		s.eachKeyTerm(x, hash, func(k *termKey) { s.removeTerm(k, x.id) })
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

// eachKeyTerm calls f with the terms of host and service, of those that x has.
func (s *shard) eachKeyTerm(x *entry, hash *keyHash, f func(k *termKey)) {
	h := &s.index.hasher
	if host := x.host(); host != nil {
		f(&termKey{field: hostField, hash: h.term(hostField, hash.host), text: host})
	}
	if service := x.service(); service != nil {
		f(&termKey{field: serviceField, hash: h.term(serviceField, hash.service), text: service})
	}
}
