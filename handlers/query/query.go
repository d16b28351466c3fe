package query

import (
	"darboux/handlers/query/javare"
	"darboux/handlers/riemann"
)

// The limits of one query. They hold for every query, whoever sends it.
const (
	// MaxText is the most bytes of a query's text.
	MaxText = 64 << 10
	// MaxDepth is the most levels of parentheses and "not".
	MaxDepth = 1_000
	// MaxTerms is the most comparisons, tests for tags and values.
	MaxTerms = 4_096
	// MaxSteps is the most steps of all regular expressions together. One match
	// takes at worst some 10 ns a step and character of the text.
	MaxSteps = javare.MaxSteps
	// MaxPatterns is the most bytes of memory that all regular expressions take
	// together, roughly. Only large classes come near it.
	MaxPatterns = 4 << 20
)

// Query is a compiled query. It never changes: any goroutine may use it.
type Query struct {
	tree    predicate
	match   matcher
	needs   riemann.Fields
	lookups []Lookup
	size    int
	terms   int
	steps   int
}

// matcher is a compiled predicate.
type matcher func(e *riemann.Event) bool

// Compile reads a query's text. An error is an *Error.
func Compile(text string) (*Query, error) {
	parsed, err := parse(text)
	if err != nil {
		return nil, err
	}
	simple := simplify(parsed.tree)
	return &Query{
		tree:    parsed.tree,
		match:   compiler{parsed.steps}.compile(simple),
		needs:   needs(simple),
		lookups: lookups(simple),
		size:    size(text, parsed),
		terms:   parsed.terms,
		steps:   parsed.steps,
	}, nil
}

// Match reports whether e is meant. It allocates nothing. It panics with a *CostError if
// that would cost too much.
func (q *Query) Match(e *riemann.Event) bool { return q.match(e) }

// Needs is the set of the fields that Match looks at. An event need have no
// others: if Needs is within HasHost, HasService, HasState and HasDescription,
// whoever knows these spans may fill them in, with Raw and Set, and do without
// parsing the event. The times and the ttl of a stored event also need IsStored.
func (q *Query) Needs() riemann.Fields { return q.needs }

// Size is roughly the memory that q takes, in bytes.
func (q *Query) Size() int { return q.size }

// String is the query as text, which compiles to the same query.
func (q *Query) String() string { return q.tree.String() }

// What the parts of a query take, in bytes. They are measured, and a test compares
// the sum with what queries really take.
const (
	sizeOfQuery = 512
	sizeOfByte  = 4 // of the text
	sizeOfTerm  = 512
	sizeOfPart  = 48 // of a pattern of =~
)

func size(text string, p parsed) int {
	return sizeOfQuery + sizeOfByte*len(text) + sizeOfTerm*p.terms + p.bytes
}
