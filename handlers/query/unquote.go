package query

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// unquote is the text that a string token stands for. It is read as Clojure's
// reader does, which ends at the first quote without a backslash before it, even
// where the token goes on. Half a surrogate pair is kept as three bytes that are
// no UTF-8, so that no event's text equals it.
func unquote(t token) string {
	body := t.text[1:]
	if end := strings.IndexAny(body, "\"\\"); body[end] == '"' {
		return body[:end]
	}
	u := unquoter{token: t, body: body}
	for u.body[0] != '"' {
		if u.body[0] == '\\' {
			u.escape()
		} else {
			u.out = append(u.out, u.body[0])
			u.body = u.body[1:]
		}
		if u.body == "" {
			u.fail("a string with a closing quote", t.text)
		}
	}
	return string(u.out)
}

type unquoter struct {
	token
	body string // what is still to be read
	out  []byte
}

func (u *unquoter) fail(expected, found string) {
	panic(&Error{At: u.at + len(u.text) - len(u.body), Expected: expected, Found: quote(found)})
}

// escapes are the escapes of one letter.
var escapes = map[byte]byte{'t': '\t', 'r': '\r', 'n': '\n', '\\': '\\', '"': '"', 'b': '\b', 'f': '\f'}

// escape reads a backslash and what belongs to it. A quote always follows, if
// only the token's last.
func (u *unquoter) escape() {
	c := u.body[1]
	switch e, known := escapes[c]; {
	case known:
		u.out = append(u.out, e)
		u.body = u.body[2:]
	case c == 'u':
		u.unicode()
	case isDigit(c):
		u.octal()
	default:
		_, n := utf8.DecodeRuneInString(u.body[1:])
		u.fail(`an escape that exists (\t \r \n \\ \" \b \f \u0000 \000)`, u.body[:1+n])
	}
}

// unicode reads \uhhhh.
func (u *unquoter) unicode() {
	if len(u.body) < 6 {
		u.fail(`four hexadecimal digits behind \u`, u.body)
	}
	n, err := strconv.ParseUint(u.body[2:6], 16, 16)
	if err != nil {
		u.fail(`four hexadecimal digits behind \u`, u.body[:6])
	}
	u.body = u.body[6:]
	u.append(rune(n))
}

// octal reads up to three octal digits; fewer must be followed by white space or
// by punctuation that Clojure reserves.
func (u *unquoter) octal() {
	n, i := 0, 1
	for ; i < 4; i++ {
		c := u.body[i]
		if strings.IndexByte(" \t\n\v\f\r\x1c\x1d\x1e\x1f,\";'@^`~()[]{}\\%#", c) >= 0 {
			break
		}
		if c < '0' || c > '7' {
			u.fail("an octal digit", u.body[:i+1])
		}
		n = 8*n + int(c-'0')
	}
	if n > 0o377 {
		u.fail(`an octal escape up to \377`, u.body[:i])
	}
	u.body = u.body[i:]
	u.append(rune(n))
}

// append appends a UTF-16 unit: the second half of a pair joins the first.
func (u *unquoter) append(r rune) {
	if n := len(u.out) - 3; n >= 0 && utf16.IsSurrogate(r) {
		if pair := utf16.DecodeRune(halfPair(u.out[n:]), r); pair != utf8.RuneError {
			u.out = utf8.AppendRune(u.out[:n], pair)
			return
		}
	}
	if utf16.IsSurrogate(r) {
		u.out = append(u.out, 0xE0|byte(r>>12), 0x80|byte(r>>6)&0x3F, 0x80|byte(r)&0x3F)
		return
	}
	u.out = utf8.AppendRune(u.out, r)
}

// halfPair is the half of a surrogate pair that stands as three bytes at the
// begin of b, 0 if none does.
func halfPair[bytes string | []byte](b bytes) rune {
	if len(b) < 3 || b[0] != 0xED || b[1]&0xE0 != 0xA0 || b[2]&0xC0 != 0x80 {
		return 0
	}
	return 0xD000 | rune(b[1]&0x3F)<<6 | rune(b[2]&0x3F)
}

// appendQuoted appends s as a string token that means s. No backslash stands
// directly before the closing quote, which would not end the token then.
func appendQuoted(dst []byte, s string) []byte {
	dst = append(dst, '"')
	for i := 0; i < len(s); {
		if half := halfPair(s[i:]); half != 0 {
			dst = fmt.Appendf(dst, `\u%04x`, half)
			i += 3
			continue
		}
		if s[i] == '\\' && i < len(s)-1 {
			dst = append(dst, '\\', '\\')
		} else {
			dst = appendEscaped(dst, s[i])
		}
		i++
	}
	return append(dst, '"')
}

func appendEscaped(dst []byte, c byte) []byte {
	switch c {
	case '\t':
		return append(dst, '\\', 't')
	case '\r':
		return append(dst, '\\', 'r')
	case '\n':
		return append(dst, '\\', 'n')
	case '"':
		return append(dst, '\\', '"')
	}
	if c < ' ' || c == '\\' || c == 0x7F {
		return fmt.Appendf(dst, `\u%04x`, c)
	}
	return append(dst, c)
}
