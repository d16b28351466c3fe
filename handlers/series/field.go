package series

import (
	"bytes"
	"encoding/binary"
	"unicode/utf8"
)

// Field splits the first field off line, which is text: fields are separated by spaces
// and tabs. It is empty if there is none.
func Field(line []byte) (field, rest []byte) {
	start := 0
	for start < len(line) && blank(line[start]) {
		start++
	}
	end := start
	for end < len(line) && !blank(line[end]) {
		end++
	}
	return line[start:end:end], line[end:]
}

// blank tells spaces and tabs. In text no other byte is as low.
func blank(c byte) bool { return c <= ' ' }

// Trimmed is line without blanks and carriage returns at its end.
func Trimmed(line []byte) []byte {
	end := len(line)
	for end > 0 && (line[end-1] == ' ' || line[end-1] == '\t' || line[end-1] == '\r') {
		end--
	}
	return line[:end]
}

// IsText reports whether line is UTF-8 without control characters other than tabs.
func IsText(line []byte) bool {
	if len(line) < 8 {
		return isText(line)
	}
	for i := 0; i+8 <= len(line); i += 8 {
		if !plain(binary.LittleEndian.Uint64(line[i:])) {
			return isText(line[i:])
		}
	}
	end := line[len(line)-8:] // the last bytes, some of them once more
	return plain(binary.LittleEndian.Uint64(end)) || isText(line[len(line)&^7:])
}

// plain reports whether each of eight bytes is from 0x20 to 0x7e: then none has its
// high bit set, nor when 0x20 is taken away or 1 added.
func plain(eight uint64) bool {
	const ones, high = 0x0101010101010101, 0x8080808080808080
	return (eight|(eight-0x20*ones)|(eight+ones))&high == 0
}

func isText(line []byte) bool {
	return bytes.IndexFunc(line, control) < 0 && utf8.Valid(line)
}

func control(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }
