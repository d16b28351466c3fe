package index

import "fmt"

// Limit is a number that users set, with the name of the flag by which they
// know it, for errors. A Value of 0 is no limit.
type Limit struct {
	Flag  string
	Value int64
}

func (l Limit) exceededBy(n int64) bool { return l.Value > 0 && n > l.Value }

// LimitError says which limit refused an event.
type LimitError struct {
	What  string // what there is too much of: "entries"
	Limit Limit
}

func (e *LimitError) Error() string {
	return fmt.Sprintf("the index is full: %s %d allows no more %s; raise it or expire events sooner",
		e.Limit.Flag, e.Limit.Value, e.What)
}
