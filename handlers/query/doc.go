// Package query is Riemann's query language: Compile turns a text into a Query,
// whose Match tells whether an event is meant.
//
// A text goes through a lexer (lex.go, unquote.go) and a parser (parse.go) into a
// tree of predicates (tree.go, value.go), which is simplified (simplify.go) and
// compiled to closures (compile.go) over the fields of an event's view
// (field.go). Lookup tells an index where all matches are, so that it need not
// scan. A Cache keeps queries by their text.
//
// The language is exact: it answers as Riemann does, except where docs/QUERY.md
// says otherwise. A text that makes no sense is an *Error, never half a query.
// The package does no I/O, knows no clock and never changes an event.
package query
