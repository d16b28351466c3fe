package index

import (
	"slices"

	"darboux/handlers/query"
)

// A plan is the ways in which a search can find its candidates without a look at all
// entries. Any one of the ways does; in each shard the one is taken that names the
// fewest entries there. A plan belongs to a Cursor and holds nothing of the index.
//
//	way     choices: what all of them name together
//	choice  atoms: any one of them does
//	atom    a key, a term, or all terms with a prefix
type plan struct {
	atoms   []atom
	choices []span32 // of atoms
	ways    []span32 // of choices
	isKey   bool     // all matches have the key of the first atom, and the rest is empty

	lookup
}

// key is the key that all matches have; nil if they may have others.
func (p *plan) key() *atom {
	if !p.isKey {
		return nil
	}
	return &p.atoms[0]
}

// nothing reports whether no entry need be looked at.
func (p *plan) nothing() bool {
	return slices.ContainsFunc(p.ways, func(w span32) bool { return w.from == w.to })
}

// span32 is a part of a slice.
type span32 struct{ from, to int32 }

// atom names entries.
type atom struct {
	termKey        // of a term; of a prefix field and text
	prefix  bool   // all terms of the field that begin with text
	isKey   bool   // the entry with that host and service
	host    []byte // of a key; nil is missing
	service []byte
	key     keyHash
	count   int // entries that it names in the shard at hand, or terms to go through for it
}

// newPlan makes a plan of a query's lookups; nil if there are none that help. dropPlan
// takes it back, so that it may be used again.
func newPlan(x *Index, lookups []query.Lookup) *plan {
	if len(lookups) == 0 {
		return nil
	}
	p := x.plans.Get().(*plan)
	p.atoms, p.choices, p.ways, p.isKey = p.atoms[:0], p.choices[:0], p.ways[:0], false
	p.begin()
	for i := range lookups {
		p.addWay(x, lookups[i:i+1])
		if p.isKey {
			return p
		}
	}
	if len(p.ways) == 0 {
		x.plans.Put(p)
		return nil
	}
	return p
}

// mostPlanned is the most atoms for which a plan keeps its memory for its next use.
const mostPlanned = 64

// dropPlan takes the plan of a search that is over from its cursor.
func (x *Index) dropPlan(cur *Cursor) {
	if p := cur.plan; p != nil && cap(p.atoms) <= mostPlanned {
		clear(p.atoms[:cap(p.atoms)]) // they lead to the query's text
		for i := range p.walk.prefixes {
			clear(p.walk.prefixes[i][:cap(p.walk.prefixes[i])])
		}
		x.plans.Put(p)
	}
	cur.plan = nil
}

// addWay adds the way of one lookup, if it is one.
func (p *plan) addWay(x *Index, l []query.Lookup) {
	if l[0].By == query.ByKey {
		p.isKey, p.choices, p.ways = true, p.choices[:0], p.ways[:0]
		p.atoms = append(p.atoms[:0], keyAtom(x, &l[0]))
		return
	}
	first := int32(len(p.choices))
	if p.addChoice(x, l) {
		p.ways = append(p.ways, span32{first, int32(len(p.choices))})
	}
}

// addChoice adds what one of the lookups names, and reports whether any of them can be
// looked up. Several choices may come of it: of an "or", one for each of its terms.
func (p *plan) addChoice(x *Index, lookups []query.Lookup) bool {
	first := int32(len(p.atoms))
	for i := range lookups {
		if lookups[i].By == query.ByNothing {
			p.atoms = p.atoms[:first]
			return true // it adds nothing to what the others name
		}
		if a, ok := newAtom(x, &lookups[i]); ok {
			p.atoms = append(p.atoms, a)
		}
	}
	if n := int32(len(p.atoms)); n > first {
		p.choices = append(p.choices, span32{first, n})
		return true
	}
	for i := range lookups {
		if lookups[i].By == query.ByAny && p.addAny(x, lookups[i].Any) {
			return true
		}
	}
	return false
}

// addAny adds a choice for each term of an "or", or nothing if there is one without.
func (p *plan) addAny(x *Index, terms [][]query.Lookup) bool {
	atoms, choices := len(p.atoms), len(p.choices)
	for _, term := range terms {
		if !p.addChoice(x, term) {
			p.atoms, p.choices = p.atoms[:atoms], p.choices[:choices]
			return false
		}
	}
	return true
}

var lookupFields = map[query.By]field{
	query.ByHost: hostField, query.ByService: serviceField, query.ByState: stateField, query.ByTag: tagField,
	query.ByHostPrefix: hostField, query.ByServicePrefix: serviceField,
}

// newAtom is the atom of a lookup. There is none for a field that must be missing: no
// posting has the entries without it.
func newAtom(x *Index, l *query.Lookup) (a atom, ok bool) {
	if l.By == query.ByKey {
		return keyAtom(x, l), true
	}
	f, ok := lookupFields[l.By]
	if !ok || l.Value == nil || x.withoutPostings {
		return a, false
	}
	a.termKey = x.hasher.termKey(f, l.Value)
	a.prefix = l.By == query.ByHostPrefix || l.By == query.ByServicePrefix
	return a, true
}

func keyAtom(x *Index, l *query.Lookup) atom {
	return atom{isKey: true, host: l.Host, service: l.Service, key: x.hasher.key(l.Host, l.Service)}
}
