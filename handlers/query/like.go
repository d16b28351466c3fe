package query

import (
	"bytes"
	"encoding/binary"
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
	return l
}

// match reports whether the pattern covers text, or text without the line end at
// its end.
func (l *likeMatcher) match(text []byte) bool {
	if l.covers(text) {
		return true
	}
	n := javare.LastLineEnd(text)
	return n > 0 && l.covers(text[:len(text)-n])
}

func (l *likeMatcher) covers(text []byte) bool {
	if !l.open {
		return string(text) == l.head
	}
	n := len(text) - len(l.tail)
	if n < len(l.head) || string(text[:len(l.head)]) != l.head || string(text[n:]) != l.tail {
		return false
	}
	text = text[len(l.head):n]
	for _, part := range l.middle {
		// The first place will do: a later one has a longer way to it, and a
		// line end on the way to the first is on the way to the later one.
		i := bytes.Index(text, part)
		if i < 0 || hasLineEnd(text[:i]) {
			return false
		}
		text = text[i+len(part):]
	}
	return !hasLineEnd(text)
}

// hasLineEnd reports whether a line end of Java's is in text: \n, \r, U+0085,
// U+2028 or U+2029. Eight bytes at a time are passed over if they are ASCII
// without control characters, as most are.
func hasLineEnd(text []byte) bool {
	for i := 0; i < len(text); i++ {
		if i+8 <= len(text) && plain(binary.LittleEndian.Uint64(text[i:])) {
			i += 7
			continue
		}
		switch text[i] {
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

// plain reports whether each of eight bytes is from 0x10 to 0x7F.
func plain(eight uint64) bool {
	const ones = 0x0101010101010101
	return (eight|(eight-0x10*ones)&^eight)&(0x80*ones) == 0
}
