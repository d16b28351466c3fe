package query

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestLike(t *testing.T) {
	for _, row := range []struct {
		pattern, text string
		want          bool
	}{
		{"", "", true}, {"", "\n", true}, {"", "a", false},
		{"foo", "foo", true}, {"foo", "foo\n", true}, {"foo", "foo\r\n", true}, {"foo", "foo\n\n", false}, {"foo", "Foo", false},
		{"foo\n", "foo\n", true}, {"foo\r", "foo\r\n", false}, {"foo\r", "foo\r", true}, {"foo\n", "foo\n\r\n", true},
		{"foo", "foo\u0085", true}, {"foo", "foo\u2028", true}, {"foo", "foo\u2029", true}, {"foo", "foo\v", false},
		{"%", "", true}, {"%", "a\n", true}, {"%", "a\nb", false}, {"%%", "ab", true},
		{"foo%", "foobar", true}, {"foo%", "foobar\n", true}, {"foo%", "foo\nbar", false}, {"foo%", "foo\u2028bar", false},
		{"%bar", "foobar", true}, {"%bar", "bar", true}, {"%bar", "barx", false},
		{"f%o", "fo", true}, {"fo%of", "fof", false}, {"a%a", "a", false},
		{"%b%", "abc", true}, {"%b%d%", "abcd", true}, {"%b%d%", "adcb", false}, {"%ab%ab%", "ab", false},
		{"%\n%", "a\nb", true}, {"%\n%", "a\nb\nc", false}, {"%\n%\n%", "a\nb\nc", true},
		{".*", ".*", true}, {".*", "ab", false}, {`a\%`, `a\b`, true}, {"é%", "éa", true},
		{"%x", strings.Repeat("long ", 9) + "x", true}, {"%x", strings.Repeat("long ", 9) + "\u0085x", false},
	} {
		if got := newLikeMatcher(row.pattern).match([]byte(row.text)); got != row.want {
			t.Errorf("%q =~ %q: %v", row.text, row.pattern, got)
		}
	}
}

// TestLikeIsItsRegexp: =~ is what Riemann makes of it, a regular expression.
func TestLikeIsItsRegexp(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		pattern, text := anyText().Draw(rt, "pattern"), anyText().Draw(rt, "text")
		pattern += anyText().Draw(rt, "more pattern")
		text += anyText().Draw(rt, "more text")
		want := mustCompile(likeAsRegexp(pattern)).Match([]byte(text))
		if got := newLikeMatcher(pattern).match([]byte(text)); got != want {
			rt.Errorf("%q =~ %q: %v, as a regular expression %v", text, pattern, got, want)
		}
	})
}
