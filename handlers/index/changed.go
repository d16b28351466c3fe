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
	s.addState(x)
	s.addTags(x)
}

// addState puts a new entry into the posting of its state.
func (s *shard) addState(x *entry) {
	state := x.state()
	if state == nil || s.addKnown(stateField, state, x.id) {
		return
	}
	k := s.index.hasher.termKey(stateField, state)
	s.terms.recent[stateField].learn(s.addTerm(&k, x.id))
	s.terms.recent[stateField].keep(state, 1)
}

// addTags puts an entry into the postings of its tags.
func (s *shard) addTags(x *entry) {
	fields := x.tagFields()
	if fields == nil || s.addKnown(tagField, fields, x.id) {
		return
	}
	if x.crowded() {
		s.terms.slab.add(&s.terms.crowded, x.id)
		return
	}
	n := 0
	for place, tag := range x.tags() {
		k := s.index.hasher.termKey(tagField, tag)
		k.place = place
		s.terms.recent[tagField].learn(s.addTerm(&k, x.id))
		n++
	}
	s.terms.recent[tagField].keep(fields, n)
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
	s.removeState(x)
	s.removeTags(x)
}

// removeState takes an entry out of the posting of its state.
func (s *shard) removeState(x *entry) {
	state := x.state()
	if state == nil || s.removeKnown(stateField, state, x.id) {
		return
	}
	k := s.index.hasher.termKey(stateField, state)
	s.terms.recent[stateField].learn(s.removeTerm(&k, x.id))
	s.terms.recent[stateField].keep(state, 1)
}

// removeTags takes an entry, which still has its bytes, out of the postings of its tags.
func (s *shard) removeTags(x *entry) {
	fields := x.tagFields()
	if fields == nil || s.removeKnown(tagField, fields, x.id) {
		return
	}
	if x.crowded() {
		s.terms.slab.remove(&s.terms.crowded, x.id)
		return
	}
	n := 0
	for _, tag := range x.tags() {
		k := s.index.hasher.termKey(tagField, tag)
		s.terms.recent[tagField].learn(s.removeTerm(&k, x.id))
		n++
	}
	s.terms.recent[tagField].keep(fields, n)
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
