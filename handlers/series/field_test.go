package series

import (
	"bytes"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"
)

func TestIsText(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		line := rapid.OneOf(
			rapid.SliceOf(rapid.Byte()),
			rapid.SliceOf(rapid.ByteRange(0x1e, 0x81)),
			rapid.SliceOf(rapid.ByteRange(' ', '~')),
			rapid.Custom(func(t *rapid.T) []byte { return []byte(rapid.String().Draw(t, "s")) }),
		).Draw(t, "line")
		want := utf8.Valid(line) && bytes.IndexFunc(line, func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }) < 0
		if got := IsText(line); got != want {
			t.Fatalf("% x is text: %v; want %v", line, got, want)
		}
	})
}

// Fields are the standard library's, but for the blanks that only it knows.
func TestFields(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		line := rapid.StringOf(rapid.SampledFrom([]rune("ab \t;"))).Draw(t, "line")
		rest := []byte(line)
		for _, want := range strings.Fields(line) {
			var got []byte
			if got, rest = Field(rest); string(got) != want {
				t.Fatalf("%q: got the field %q; want %q", line, got, want)
			}
		}
		if more, rest := Field(rest); len(more)+len(rest) != 0 {
			t.Fatalf("%q: another field %q", line, more)
		}
	})
}

func TestTrimmed(t *testing.T) {
	for line, want := range map[string]string{"": "", "a": "a", "a\r": "a", "a \t\r": "a", "a\r \r\r": "a", "\r": "", " a b ": " a b", "a\rb": "a\rb"} {
		if got := Trimmed([]byte(line)); string(got) != want {
			t.Errorf("%q: got %q; want %q", line, got, want)
		}
	}
}
