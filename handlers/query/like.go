package query

import (
	"bytes"
	"encoding/binary"
	"slices"
	"strings"

	"darboux/handlers/query/javare"
)

// likeMatcher is the pattern of =~. To Riemann it is the regular expression that
// has ^ before it, $ behind it and .* for each %: so % does not cross line ends,
// and a line end at the end of the text may be left over.
type likeMatcher struct {
	open   bool     // there is a %
	head   string   // what stands before the first %, or the whole pattern
	middle [][]byte // what stands between two %
	tail   string   // what stands behind the last %

	headOnly bool // it is a head and one or more %
}

func newLikeMatcher(pattern string) *likeMatcher {
	parts := strings.Split(pattern, "%")
	l := &likeMatcher{head: parts[0], open: len(parts) > 1}
	if !l.open {
		return l
	}
	last := len(parts) - 1
	l.tail = parts[last]
	for _, part := range parts[1:last] {
		if part != "" {
			l.middle = append(l.middle, []byte(part))
		}
	}
	l.headOnly = l.tail == "" && len(l.middle) == 0
	return l
}

// match reports whether the pattern covers text, or text without the line end at
// its end.
func (l *likeMatcher) match(text []byte) bool {
	if len(text) < len(l.head) || string(text[:len(l.head)]) != l.head {
		return false
	}
	if allPlain(text) { // as nearly all texts are: no line end anywhere
		return l.headOnly || l.coversPlain(text)
	}
	if l.covers(text) {
		return true
	}
	n := javare.LastLineEnd(text)
	return n > 0 && l.covers(text[:len(text)-n])
}

// between cuts off what the head and the tail of the pattern cover.
func (l *likeMatcher) between(text []byte) (rest []byte, ok bool) {
	n := len(text) - len(l.tail)
	if n < len(l.head) || string(text[:len(l.head)]) != l.head || string(text[n:]) != l.tail {
		return nil, false
	}
	return text[len(l.head):n], true
}

func (l *likeMatcher) coversPlain(text []byte) bool {
	if !l.open {
		return string(text) == l.head
	}
	text, ok := l.between(text)
	for _, part := range l.middle {
		i := bytes.Index(text, part)
		if i < 0 {
			return false
		}
		text = text[i+len(part):]
	}
	return ok
}

func (l *likeMatcher) covers(text []byte) bool {
	if !l.open {
		return string(text) == l.head
	}
	text, ok := l.between(text)
	for _, part := range l.middle {
		// The first place will do: a later one has a longer way to it, and a
		// line end on the way to the first is on the way to the later one.
		i := bytes.Index(text, part)
		if i < 0 || hasLineEnd(text[:i]) {
			return false
		}
		text = text[i+len(part):]
	}
	return ok && !hasLineEnd(text)
}

// hasLineEnd reports whether a line end of Java's is in text: \n, \r, U+0085,
// U+2028 or U+2029.
func hasLineEnd(text []byte) bool {
	for i, c := range text {
		switch c {
		case '\n', '\r':
			return true
		case 0xC2:
			if i+1 < len(text) && text[i+1] == 0x85 {
				return true
			}
		case 0xE2:
			if i+2 < len(text) && text[i+1] == 0x80 && text[i+2]&^1 == 0xA8 {
				return true
			}
		}
	}
	return false
}

// allPlain reports whether text is ASCII without control characters but a few,
// none of which is a line end. It takes eight bytes at a time; the last eight may
// overlap those before.
func allPlain(text []byte) bool {
	n := len(text) - 8
	if n < 0 {
		return !slices.ContainsFunc(text, func(c byte) bool { return c < 0x10 || c > 0x7F })
	}
	for i := 0; i < n; i += 8 {
		if !plain(binary.LittleEndian.Uint64(text[i:])) {
			return false
		}
	}
	return plain(binary.LittleEndian.Uint64(text[n:]))
}

// plain reports whether each of eight bytes is from 0x10 to 0x7F.
func plain(eight uint64) bool {
	const ones = 0x0101010101010101
	return (eight|(eight-0x10*ones)&^eight)&(0x80*ones) == 0
}
