package index

import "darboux/handlers/riemann"

// changedTerms tells whether w changes x's state and x's tags. The key stays.
func (s *shard) changedTerms(x *entry, w *write) (state, tags bool) {
	if s.index.withoutPostings {
		return false, false
	}
	return !x.sameState(w), !x.sameTags(w)
}

func (x *entry) sameState(w *write) bool {
	const bit = riemann.HasState
	if (x.kept^w.kept)&bit != 0 {
		return false
	}
	return x.kept&bit == 0 || string(x.state()) == string(w.event.StateBytes())
}

// changeState moves an entry, which still has its bytes, from its state's posting to the
// new state's.
func (s *shard) changeState(x *entry, w *write) {
	h := &s.index.hasher
	before, after := h.termKey(stateField, x.state()), h.termKey(stateField, w.event.StateBytes())
	if before.text != nil {
		s.removeTerm(&before, x.id)
	}
	if after.text != nil {
		s.addTerm(&after, x.id)
	}
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
	if state := x.state(); state != nil {
		k := s.index.hasher.termKey(stateField, state)
		s.addTerm(&k, x.id)
	}
	s.addTags(x)
}

// addTags puts an entry into the postings of its tags.
func (s *shard) addTags(x *entry) {
	if x.crowded() {
		s.terms.slab.add(&s.terms.crowded, x.id)
		return
	}
	for place, tag := range x.tags() {
		k := s.index.hasher.termKey(tagField, tag)
		k.place = place
		s.addTerm(&k, x.id)
	}
}

// removeTerms takes an entry, which still has its bytes, out of its postings.
func (s *shard) removeTerms(x *entry, hash *keyHash) {
	if s.index.withoutPostings {
		return
	}
	var keys [2]termKey
	for i := range s.keyTerms(x.host(), x.service(), hash, &keys) {
		s.removeTerm(&keys[i], x.id)
	}
	if state := x.state(); state != nil {
		k := s.index.hasher.termKey(stateField, state)
		s.removeTerm(&k, x.id)
	}
	s.removeTags(x)
}

// removeTags takes an entry, which still has its bytes, out of the postings of its tags.
func (s *shard) removeTags(x *entry) {
	if x.crowded() {
		s.terms.slab.remove(&s.terms.crowded, x.id)
		return
	}
	for _, tag := range x.tags() {
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
