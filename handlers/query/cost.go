package query

import (
	"fmt"

	"darboux/handlers/query/javare"
	"darboux/handlers/riemann"
)

// MaxMatchCost bounds what a query's regular expressions may cost for one event: the steps
// of all of them times the bytes of the text. Nothing can stop a match once it runs, and at
// worst each step takes some 10 ns for each byte: so this is a twentieth of a second.
const MaxMatchCost = 4 << 20

// CostError is what Match panics with instead of a match that might hold up its
// goroutine for long. Who runs a query on events of other people recovers it and makes it
// the query's answer.
type CostError struct {
	Steps, Bytes int // of the query's regular expressions, and of the text one was to look at
}

func (e *CostError) Error() string {
	return fmt.Sprintf("regular expressions of %d steps on a text of %d bytes: the limit is %d steps times bytes; shorten the patterns, or narrow the query by terms in front of them",
		e.Steps, e.Bytes, MaxMatchCost)
}

// Steps is the size of all the query's regular expressions together; see MaxSteps.
func (q *Query) Steps() int { return q.steps }

// Terms is the number of the query's comparisons, tests for tags and values: a match
// looks at each of them once at most.
func (q *Query) Terms() int { return q.terms }

const (
	// stepEvents is Step for a query of one term, which looks at each event once.
	stepEvents = 500
	stepCost   = 10 * stepEvents
	// stepCostly is Step for a query with regular expressions, which may cost MaxMatchCost
	// for each event.
	stepCostly = 2
)

// Step is how many events may be matched between two looks at the clock.
func (q *Query) Step() int {
	if q.steps > 0 {
		return stepCostly
	}
	return max(1, stepCost/(9+q.terms))
}

// longestText is the longest text that regular expressions of so many steps look at.
func longestText(steps int) int { return MaxMatchCost / max(steps, 1) }

func (c compiler) compileRegexp(f field, re *javare.Regexp) matcher {
	longest := longestText(c.steps)
	return func(e *riemann.Event) bool {
		text := f.text(e)
		if len(text) > longest {
			panic(&CostError{Steps: c.steps, Bytes: len(text)})
		}
		return text != nil && re.Match(text)
	}
}
