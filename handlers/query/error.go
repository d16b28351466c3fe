package query

import (
	"fmt"
	"strconv"
	"unicode/utf8"
)

// Error tells what in a query's text was expected where.
type Error struct {
	At       int    // the character of the text, from 1 on
	Expected string // as in: expected a number after ">"
	Found    string // as in: found "x"
}

// Error is the text that a client gets. It is valid UTF-8, whatever the query.
func (e *Error) Error() string {
	return fmt.Sprintf("parse error: at %d: expected %s, found %s", e.At, e.Expected, e.Found)
}

// maxFound is the most characters of a query that an error repeats.
const maxFound = 40

// quote shows a piece of a query's text.
func quote(s string) string {
	if utf8.RuneCountInString(s) > maxFound {
		runes := []rune(s)
		return strconv.Quote(string(runes[:maxFound])) + "..."
	}
	return strconv.Quote(s)
}

// catch turns an *Error that was thrown into a returned one.
func catch(err *error) {
	switch thrown := recover().(type) {
	case nil:
	case *Error:
		*err = thrown
	default:
		panic(thrown)
	}
}
