package query

import (
	"fmt"

	"darboux/handlers/query/javare"
	"darboux/handlers/riemann"
)

// MaxMatchCost bounds one match of a regular expression: its steps times the bytes of
// the text. Nothing can stop a match once it runs, and at worst each step takes some
// 10 ns for each byte: so this is a twentieth of a second.
const MaxMatchCost = 4 << 20

// CostError is what Match panics with instead of a match that might hold up its
// goroutine for long. Who runs a query on events of other people recovers it and makes it
// the query's answer.
type CostError struct {
	Steps, Bytes int // of the regular expression, and of the text it was to look at
}

func (e *CostError) Error() string {
	return fmt.Sprintf("regular expression of %d steps on a text of %d bytes: the limit is %d steps times bytes; shorten the pattern, or narrow the query by terms in front of it",
		e.Steps, e.Bytes, MaxMatchCost)
}

// Steps is the size of all the query's regular expressions together; see MaxSteps.
func (q *Query) Steps() int { return q.steps }

func compileRegexp(f field, re *javare.Regexp) matcher {
	steps := re.Steps()
	longest := MaxMatchCost / max(steps, 1)
	return func(e *riemann.Event) bool {
		text := f.text(e)
		if len(text) > longest {
			panic(&CostError{Steps: steps, Bytes: len(text)})
		}
		return text != nil && re.Match(text)
	}
}
