package index

// recent are the terms of the state, or of the tags, of the last entry that was put into
// their postings or taken out: the next one mostly has the same, and then they need not be
// looked for. They are known as long as none of their table's slots may have moved.
type recent struct {
	text  []byte  // the state, or the fields of the tags
	terms []*term // its terms; none: they aren't known
}

// mostRecent is how many bytes of text are kept.
const mostRecent = 256

// learn takes one of the terms that were looked for; nil is one that is gone.
func (r *recent) learn(t *term) {
	if t != nil {
		r.terms = append(r.terms, t)
	}
}

// keep makes what was learnt since nothing was known the terms of text, if it is all n.
func (r *recent) keep(text []byte, n int) {
	if len(r.terms) != n || len(text) > mostRecent {
		r.forget()
		return
	}
	r.text = append(r.text[:0], text...)
}

func (r *recent) forget() { r.terms = r.terms[:0] }

// of are the terms of text; none if they aren't known, and then nothing is.
func (r *recent) of(text []byte) []*term {
	if string(r.text) != string(text) {
		r.forget()
	}
	return r.terms
}

// addKnown puts an entry into the postings of the terms of text, if they are known.
func (s *shard) addKnown(f field, text []byte, id uint32) bool {
	known := s.terms.recent[f].of(text)
	for _, t := range known {
		s.terms.slab.add(&t.posting, id)
	}
	return len(known) > 0
}

// removeKnown takes an entry out of the postings of the terms of text, if they are known and
// go on without it: with another entry in each, and another witness.
func (s *shard) removeKnown(f field, text []byte, id uint32) bool {
	known := s.terms.recent[f].of(text)
	for _, t := range known {
		if t.len() == 1 || t.witness.id() == id {
			s.terms.recent[f].forget()
			return false
		}
	}
	for _, t := range known {
		s.terms.slab.remove(&t.posting, id)
	}
	return len(known) > 0
}
