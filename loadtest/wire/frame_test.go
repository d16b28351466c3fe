package wire

import (
	"strings"
	"testing"
)

func TestReadFrame(t *testing.T) {
	for _, row := range []struct {
		stream string
		body   string
		err    string // a part of it; empty: none
	}{
		{"\x00\x00\x00\x02ab", "ab", ""},
		{"\x00\x00\x00\x00", "", ""},
		{"\x00\x00\x00\x0aabcdefghij", "abcdefghij", ""},
		{"\x00\x00\x00\x0b", "", "reply of 11 bytes is over the limit of 10 bytes"},
		{"\x00\x00\x00", "", "unexpected EOF"},
		{"\x00\x00\x00\x02a", "", "unexpected EOF"},
		{"", "", "EOF"},
	} {
		body, err := ReadFrame(strings.NewReader(row.stream), 10)
		if row.err == "" && (err != nil || string(body) != row.body) || row.err != "" && (err == nil || !strings.Contains(err.Error(), row.err)) {
			t.Errorf("%q: %q, %v; want %q, %q", row.stream, body, err, row.body, row.err)
		}
	}
}
