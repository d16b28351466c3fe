package query

// Lookup is a way to find the events that a query matches without a look at all
// of them: every match is among those that it names, and perhaps others.
type Lookup struct {
	By By
	// Host and Service are the values of ByKey. Nil means that the event has none.
	Host, Service []byte
	// Value is the value, the tag or the prefix of the others. Nil means that the
	// event has none.
	Value []byte
	// Any is for each term of an "or" its own ways, of which one will do.
	Any [][]Lookup
}

// By tells which events a Lookup names.
type By byte

// The kinds of Lookup.
const (
	ByNothing       By = iota // none: the query matches no event
	ByKey                     // the one with that host and service
	ByHost                    // those with that host
	ByService                 // those with that service
	ByState                   // those with that state
	ByTag                     // those with that tag
	ByHostPrefix              // those whose host begins so
	ByServicePrefix           // those whose service begins so
	ByAny                     // those that the terms of an "or" name together
)

func (b By) String() string {
	return [...]string{"nothing", "key", "host", "service", "state", "tag", "host prefix", "service prefix", "any"}[b]
}

// Lookups are the ways to find q's matches. Each does for itself: an index takes
// the one with the fewest events. If there is none, only a scan finds them.
func (q *Query) Lookups() []Lookup { return q.lookups }

// lookups are those of a simplified predicate.
func lookups(p predicate) []Lookup {
	switch p := p.(type) {
	case and:
		return lookupsOfAnd(p.terms)
	case or:
		return lookupsOfOr(p.terms)
	case not:
		return lookupOfMissing(p.term)
	case compare:
		return lookupOfEqual(p)
	case like:
		return lookupOfLike(p)
	case tagged:
		return []Lookup{{By: ByTag, Value: []byte(p.tag)}}
	case present:
		if isAlways(p, false) {
			return []Lookup{{By: ByNothing}}
		}
	}
	return nil
}

// lookupsOfAnd are those of any term, and that of a host and a service together.
func lookupsOfAnd(terms []predicate) []Lookup {
	var all []Lookup
	var host, service *Lookup
	for _, t := range terms {
		for _, l := range lookups(t) {
			switch l.By {
			case ByHost:
				host = &l
			case ByService:
				service = &l
			}
			all = append(all, l)
		}
	}
	if host != nil && service != nil {
		key := Lookup{By: ByKey, Host: host.Value, Service: service.Value}
		return append([]Lookup{key}, all...)
	}
	return all
}

// lookupsOfOr is one if all terms have any.
func lookupsOfOr(terms []predicate) []Lookup {
	all := make([][]Lookup, 0, len(terms))
	for _, t := range terms {
		ways := lookups(t)
		if len(ways) == 0 {
			return nil
		}
		all = append(all, ways)
	}
	return []Lookup{{By: ByAny, Any: all}}
}

// byField are the fields by whose value events can be looked up.
var byField = map[fieldKind]By{host: ByHost, service: ByService, state: ByState}

// lookupOfMissing is that of a field that must be missing.
func lookupOfMissing(term predicate) []Lookup {
	p, ok := term.(present)
	if !ok || p.of.constant() {
		return nil
	}
	if by, ok := byField[fieldOf(p.of.text).kind]; ok {
		return []Lookup{{By: by}}
	}
	return nil
}

func lookupOfEqual(p compare) []Lookup {
	if p.op != equal || p.right.kind != isText {
		return nil
	}
	if by, ok := byField[fieldOf(p.left.text).kind]; ok {
		return []Lookup{{By: by, Value: []byte(p.right.text)}}
	}
	return nil
}

// lookupOfLike is that of what stands before the first %.
func lookupOfLike(p like) []Lookup {
	prefix := newLikeMatcher(p.pattern).head
	if prefix == "" {
		return nil
	}
	switch fieldOf(p.left.text).kind {
	case host:
		return []Lookup{{By: ByHostPrefix, Value: []byte(prefix)}}
	case service:
		return []Lookup{{By: ByServicePrefix, Value: []byte(prefix)}}
	}
	return nil
}
