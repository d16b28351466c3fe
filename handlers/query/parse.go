package query

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"darboux/handlers/query/javare"
)

// parsed is what the parser makes of a text.
type parsed struct {
	tree  predicate
	terms int // comparisons, tests for tags and values
	steps int // of regular expressions
	bytes int // of regular expressions and other patterns
}

// parser reads tokens by the grammar
//
//	or    = and { "or" and }
//	and   = unary { "and" unary }
//	unary = "not" unary | "(" or ")" | term
//
// and throws an *Error, whose At is a byte until parse makes it a character.
type parser struct {
	lexer
	token        // the one at hand
	before token // the one before it
	depth  int
	parsed
}

func parse(text string) (result parsed, err error) {
	p := parser{lexer: lexer{text: text}}
	defer func() {
		var e *Error
		if errors.As(err, &e) {
			e.At = utf8.RuneCountInString(text[:e.At]) + 1
		}
	}()
	defer catch(&err)
	if len(text) > MaxText {
		p.limit("a query of at most %d bytes", MaxText, fmt.Sprintf("%d bytes", len(text)))
	}
	p.advance()
	p.tree = p.or()
	if p.kind != tokenEnd {
		p.fail(`"and", "or" or the end`)
	}
	return p.parsed, nil
}

func (p *parser) advance() {
	p.before = p.token
	p.token = p.next()
	if p.kind == tokenError {
		p.fail(p.want)
	}
}

// fail throws an error about the token at hand.
func (p *parser) fail(expected string) {
	if p.before.kind == tokenString && strings.Contains(p.before.text, `\"`) {
		expected += ` (the string before it ends here: a quote behind a backslash ends none; a last backslash is \u005c)`
	}
	found := "the end"
	switch p.kind {
	case tokenEnd:
	case tokenString:
		found = "the string " + quote(strings.Trim(p.token.text, `"`))
	default:
		found = quote(p.token.text)
	}
	panic(&Error{p.at, expected, found})
}

// limit throws an error about a limit at the token at hand.
func (p *parser) limit(expected string, limit int, found string) {
	panic(&Error{p.at, fmt.Sprintf(expected, limit), found})
}

// accept goes on if the token at hand is of that kind.
func (p *parser) accept(kind tokenKind) bool {
	if p.kind != kind {
		return false
	}
	p.advance()
	return true
}

func (p *parser) or() predicate {
	terms := []predicate{p.and()}
	for p.accept(tokenOr) {
		terms = append(terms, p.and())
	}
	if len(terms) == 1 {
		return terms[0]
	}
	return or{terms}
}

func (p *parser) and() predicate {
	terms := []predicate{p.unary()}
	for p.accept(tokenAnd) {
		terms = append(terms, p.unary())
	}
	if len(terms) == 1 {
		return terms[0]
	}
	return and{terms}
}

func (p *parser) unary() predicate {
	switch p.kind {
	case tokenNot:
		p.enter()
		term := p.unary()
		p.depth--
		return not{term}
	case tokenLeft:
		p.enter()
		inner := p.or()
		p.depth--
		if !p.accept(tokenRight) {
			p.fail(`"and", "or" or ")"`)
		}
		return inner
	}
	return p.term()
}

// enter goes behind a "(" or a "not".
func (p *parser) enter() {
	if p.depth++; p.depth > MaxDepth {
		p.limit(`at most %d levels of "(" and "not"`, MaxDepth, "more")
	}
	p.advance()
}

// term reads what has no parts that are predicates.
func (p *parser) term() predicate {
	if p.terms++; p.terms > MaxTerms {
		p.limit("at most %d terms", MaxTerms, "more")
	}
	if p.accept(tokenTagged) {
		return tagged{p.string(`"tagged"`)}
	}
	left, ok := p.value()
	if !ok {
		p.fail(p.after(`a field, a value, "not" or "("`))
	}
	if p.kind != tokenOperator {
		return present{left}
	}
	return p.comparison(left)
}

// after adds what the token at hand comes after, if that is a word.
func (p *parser) after(expected string) string {
	if k := p.before.kind; k == tokenAnd || k == tokenOr || k == tokenNot {
		return expected + " after " + quote(p.before.text)
	}
	return expected
}

// comparison reads an operator and its right side.
func (p *parser) comparison(left value) predicate {
	op := p.token.text
	p.advance()
	switch op {
	case "=~":
		pattern := p.string(quote(op))
		p.bytes += sizeOfPart * strings.Count(pattern, "%")
		return like{left, pattern}
	case "~=":
		return p.match(left)
	case "=", "!=":
		right, ok := p.value()
		if !ok {
			p.fail("a value or a field after " + quote(op))
		}
		return compare{operator(op), left, right}
	}
	right, ok := p.number()
	if !ok {
		p.fail("a number after " + quote(op))
	}
	return compare{operator(op), left, right}
}

// match reads a regular expression.
func (p *parser) match(left value) predicate {
	at := p.at
	pattern := p.string(`"~="`)
	re, err := javare.Compile(pattern)
	if err != nil {
		panic(&Error{at, "a regular expression", err.Error() + " of it"})
	}
	if p.steps += re.Steps(); p.steps > MaxSteps {
		panic(&Error{at, fmt.Sprintf("regular expressions of together at most %d steps", MaxSteps), "more"})
	}
	if p.bytes += re.Size(); p.bytes > MaxPatterns {
		panic(&Error{at, fmt.Sprintf("regular expressions that take together at most %d bytes", MaxPatterns), "more"})
	}
	return match{left, pattern, re}
}

// string reads a string behind what.
func (p *parser) string(what string) string {
	if p.kind != tokenString {
		p.fail("a string after " + what)
	}
	s := unquote(p.token)
	p.advance()
	return s
}

// value reads a constant or a field, if there is one.
func (p *parser) value() (v value, ok bool) {
	switch p.kind {
	case tokenName:
		v = value{kind: isField, text: p.token.text}
	case tokenString:
		v = value{kind: isText, text: unquote(p.token)}
	case tokenTrue, tokenFalse:
		v = value{kind: isTruth, truth: p.kind == tokenTrue}
	case tokenNil:
		v = value{kind: isNil}
	default:
		return p.number()
	}
	p.advance()
	return v, true
}

// number reads a number, if there is one.
func (p *parser) number() (v value, ok bool) {
	switch p.kind {
	case tokenInteger, tokenBig, tokenFloat:
	default:
		return value{}, false
	}
	v = constantOf(p.token)
	p.advance()
	return v, true
}
