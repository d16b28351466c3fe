package query

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// token is a piece of a query's text.
type token struct {
	kind tokenKind
	text string // as it stands in the query
	at   int    // its first byte
	want string // of tokenError: what was expected
}

type tokenKind byte

const (
	tokenEnd     tokenKind = iota
	tokenError             // what can be no token, and why
	tokenUnknown           // a character that begins no token
	tokenLeft              // (
	tokenRight             // )
	tokenName
	tokenString // with its quotes, not yet unquoted
	tokenInteger
	tokenBig // an integer with N behind it
	tokenFloat
	tokenAnd
	tokenOr
	tokenNot
	tokenTagged
	tokenTrue
	tokenFalse
	tokenNil
	tokenOperator
)

// keywords are names with a meaning of their own.
var keywords = map[string]tokenKind{
	"and": tokenAnd, "or": tokenOr, "not": tokenNot, "tagged": tokenTagged,
	"true": tokenTrue, "false": tokenFalse, "nil": tokenNil, "null": tokenNil,
	"NaN": tokenFloat, "-NaN": tokenFloat, "Infinity": tokenFloat, "-Infinity": tokenFloat,
}

// lexer cuts a text into tokens. A name takes whatever is not used otherwise,
// control characters and any letters included. Other than in Riemann, an operator
// always ends a name: "metric>1" are three tokens.
type lexer struct {
	text  string
	pos   int
	start int // of the token at hand
}

func (l *lexer) next() token {
	l.skip(isBlank)
	l.start = l.pos
	if l.pos == len(l.text) {
		return token{kind: tokenEnd, at: l.pos}
	}
	switch c := l.text[l.pos]; {
	case c == '(':
		l.pos++
		return l.token(tokenLeft)
	case c == ')':
		l.pos++
		return l.token(tokenRight)
	case c == '"':
		return l.quoted()
	case l.operator(0) > 0:
		l.pos += l.operator(0)
		t := l.token(tokenOperator)
		l.skipOdd()
		return t
	case isDigit(c), c == '-':
		return l.number()
	case isNameByte(c):
		return l.name()
	}
	_, n := utf8.DecodeRuneInString(l.text[l.pos:])
	l.pos += n
	return l.token(tokenUnknown)
}

func (l *lexer) token(kind tokenKind) token {
	return token{kind: kind, text: l.text[l.start:l.pos], at: l.start}
}

func (l *lexer) fail(want string) token {
	t := l.token(tokenError)
	t.want = want
	return t
}

func (l *lexer) skip(is func(byte) bool) {
	for l.pos < len(l.text) && is(l.text[l.pos]) {
		l.pos++
	}
}

// skipOdd goes behind the blanks that Riemann takes for parts of names, as a
// no-break space: directly beside an operator, nobody means a name by them.
func (l *lexer) skipOdd() {
	rest := strings.TrimLeftFunc(l.text[l.pos:], isOddBlank)
	l.pos = len(l.text) - len(rest)
}

// look is the byte n behind the one at hand, 0 behind the end.
func (l *lexer) look(n int) byte {
	if l.pos+n >= len(l.text) {
		return 0
	}
	return l.text[l.pos+n]
}

// operator is the length of the operator n behind the byte at hand, 0 if there is
// none.
func (l *lexer) operator(n int) int {
	second := l.look(n + 1)
	switch l.look(n) {
	case '=':
		if second == '~' {
			return 2
		}
		return 1
	case '<', '>':
		if second == '=' {
			return 2
		}
		return 1
	case '!', '~':
		if second == '=' {
			return 2
		}
	}
	return 0
}

// quoted reads a string. As in Riemann it goes on behind a quote that a backslash
// precedes, if there is another quote to end it: "a\\" b" is one string.
func (l *lexer) quoted() token {
	end := -1
	for i := l.pos + 1; i < len(l.text); i++ {
		if l.text[i] != '"' {
			continue
		}
		end = i
		if l.text[i-1] != '\\' {
			break
		}
	}
	if end < 0 {
		l.pos = len(l.text)
		return l.fail("a string with a closing quote")
	}
	l.pos = end + 1
	return l.token(tokenString)
}

// number reads the longest number, or a name that begins like one, as -1x.
func (l *lexer) number() token {
	kind, ok := l.numeral()
	end := l.pos
	if l.text[l.start] == '-' {
		l.pos = l.start
		if name := l.name(); !ok || l.pos > end || name.kind != tokenName {
			return name
		}
		l.pos = end
	}
	if l.text[end-1]|0x20 == 'l' {
		return l.fail("an integer without l behind it")
	}
	return l.token(kind)
}

// numeral reads a number's digits and what belongs to them.
func (l *lexer) numeral() (kind tokenKind, ok bool) {
	if l.text[l.pos] == '-' {
		l.pos++
	}
	digits := l.pos
	l.skip(isDigit)
	if l.pos == digits {
		return 0, false
	}
	if l.fraction() {
		return tokenFloat, true
	}
	switch l.look(0) {
	case 'n', 'N':
		l.pos++
		return tokenBig, true
	case 'l', 'L':
		l.pos++
	}
	return tokenInteger, true
}

// fraction reads what makes an integer a float: .digits, an exponent or both.
func (l *lexer) fraction() bool {
	found := l.look(0) == '.' && l.digitsAt(1)
	if l.look(0)|0x20 == 'e' && (l.digitsAt(1) || l.look(1) == '-' && l.digitsAt(2)) {
		found = true
	}
	return found
}

// digitsAt goes behind the digits that begin n behind the byte at hand, if there
// are any.
func (l *lexer) digitsAt(n int) bool {
	if !isDigit(l.look(n)) {
		return false
	}
	l.pos += n
	l.skip(isDigit)
	return true
}

// name reads a name or a keyword.
func (l *lexer) name() token {
	for l.pos < len(l.text) && l.operator(0) == 0 {
		c := l.text[l.pos]
		if !isNameByte(c) && !isDigit(c) && !l.colon() {
			break
		}
		l.pos++
	}
	t := l.token(tokenName)
	if l.operator(0) > 0 {
		t.text = strings.TrimRightFunc(t.text, isOddBlank)
		if t.text == "" {
			return l.next()
		}
	}
	if kind, ok := keywords[t.text]; ok {
		t.kind = kind
	}
	return t
}

// colon reports whether a colon is at hand that goes on with a name.
func (l *lexer) colon() bool {
	if l.look(0) != ':' || l.pos+1 == len(l.text) {
		return false
	}
	c := l.look(1)
	return isDigit(c) || isNameByte(c) && l.operator(1) == 0
}

func isBlank(c byte) bool { return c == ' ' || c == '\n' || c == '\r' || c == '\t' || c == ',' }

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

// isNameByte reports whether a name may begin with c, if that is no operator.
func isNameByte(c byte) bool { return !isDigit(c) && !isBlank(c) && !neverInNames[c] }

var neverInNames = func() (is [256]bool) {
	for _, c := range []byte("^`'\"#~@:/%()[]{}\\") {
		is[c] = true
	}
	return is
}()

// isOddBlank reports whether r is white space to people but not to Riemann, or
// cannot be seen at all.
func isOddBlank(r rune) bool {
	return unicode.IsSpace(r) && !(r < 0x80 && isBlank(byte(r))) || unicode.Is(unicode.Cf, r)
}
