// Package oracle holds what a Riemann server answers: the rows of rows.jsonl.gz,
// each a query, an event and Riemann's answer, and beside them the few answers
// that are meant to differ here, with the reason (differences.json).
//
// It is for tests of the query language and of servers that speak it; nothing
// else imports it.
package oracle
