package query

import (
	"bytes"

	"darboux/handlers/riemann"
)

// field is a field of an event by its name in a query.
type field struct {
	kind fieldKind
	name string
}

type fieldKind byte

const (
	attribute fieldKind = iota
	host
	service
	state
	description
	metric
	moment // time
	ttl
	tags
)

var coreFields = map[string]fieldKind{
	"host": host, "service": service, "state": state, "description": description,
	"metric": metric, "time": moment, "ttl": ttl, "tags": tags,
}

// fieldOf is the field of that name: a core field, or else an attribute.
func fieldOf(name string) field { return field{coreFields[name], name} }

func (f field) holdsText() bool { return f.kind <= description }

func (f field) holdsNumber() bool { return f.kind == metric || f.kind == moment || f.kind == ttl }

// needs is the set of the fields that must be known to tell f's value.
func (f field) needs() riemann.Fields {
	switch f.kind {
	case host:
		return riemann.HasHost
	case service:
		return riemann.HasService
	case state:
		return riemann.HasState
	case description:
		return riemann.HasDescription
	case metric:
		return riemann.HasSint64 | riemann.HasD | riemann.HasF
	case moment:
		return riemann.HasTime | riemann.HasTimeMicros
	case ttl:
		return riemann.HasTTL
	case tags:
		return riemann.HasTags
	}
	return riemann.HasAttributes
}

// text reads f, which holdsText: nil if the event has none.
func (f field) text(e *riemann.Event) []byte {
	switch f.kind {
	case host:
		return e.HostBytes()
	case service:
		return e.ServiceBytes()
	case state:
		return e.StateBytes()
	case description:
		return e.DescriptionBytes()
	}
	text, ok := e.Attribute(f.name)
	if ok && text == nil {
		return noText
	}
	return text
}

// bytesOf is what stands at s, one of e's spans that is set.
func bytesOf(e *riemann.Event, s riemann.Span) []byte { return e.Raw[s.Off : s.Off+s.Len] }

// noText is a text that is there and empty.
var noText = []byte{}

// number reads f, which holdsNumber.
func (f field) number(e *riemann.Event) riemann.Number {
	switch f.kind {
	case metric:
		return e.Metric()
	case moment:
		return e.TimeNumber()
	}
	return e.TTLNumber()
}

// present reports whether the event has f.
func (f field) present(e *riemann.Event) bool {
	switch {
	case f.kind == tags:
		return e.Set&riemann.HasTags != 0
	case f.holdsNumber():
		return f.number(e).Kind != riemann.Absent
	}
	return f.text(e) != nil
}

// sameFields compares two different fields: both may be missing; the tags equal
// nothing else.
func sameFields(f, g field) matcher {
	switch {
	case f.holdsText() && g.holdsText():
		return func(e *riemann.Event) bool {
			a, b := f.text(e), g.text(e)
			return (a == nil) == (b == nil) && bytes.Equal(a, b)
		}
	case f.holdsNumber() && g.holdsNumber():
		return func(e *riemann.Event) bool { return sameNumbers(f.number(e), g.number(e)) }
	}
	return func(e *riemann.Event) bool { return !f.present(e) && !g.present(e) }
}

func sameNumbers(a, b riemann.Number) bool {
	if a.Kind != b.Kind {
		return false
	}
	switch a.Kind {
	case riemann.Integer:
		return a.Int == b.Int
	case riemann.Float:
		return a.Float == b.Float
	}
	return true
}

// needs is the set of the fields that a simplified predicate reads.
func needs(p predicate) riemann.Fields {
	switch p := p.(type) {
	case and:
		return needsOfAll(p.terms)
	case or:
		return needsOfAll(p.terms)
	case not:
		return needs(p.term)
	case compare:
		return needsOfValue(p.left) | needsOfValue(p.right)
	case like:
		return needsOfValue(p.left)
	case match:
		return needsOfValue(p.left)
	case tagged:
		return riemann.HasTags
	case present:
		return needsOfValue(p.of)
	}
	panic("BUG: a predicate of no known kind")
}

func needsOfAll(terms []predicate) (all riemann.Fields) {
	for _, t := range terms {
		all |= needs(t)
	}
	return all
}

func needsOfValue(v value) riemann.Fields {
	if v.constant() {
		return 0
	}
	return fieldOf(v.text).needs()
}
