package javare

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"unicode"
)

// TestRewriting shows what becomes of a pattern, and that plain ones stay plain.
func TestRewriting(t *testing.T) {
	const ends = `[\x{A}\x{D}\x{85}\x{2028}-\x{2029}]`
	for _, row := range []struct{ java, whole, cut string }{
		{`disk`, `disk`, ""},
		{`^disk[0-9]+`, `\Adisk[\x{30}-\x{39}]+`, ""},
		{`a.c`, `a[^\x{A}\x{D}\x{85}\x{2028}-\x{2029}]c`, ""},
		{`(?s)a.c`, `a(?s:.)c`, ""},
		{`foo$`, `foo\z`, `foo\z`},
		{`foo\z|bar$`, `foo\z|bar\z`, `foo[^\x00-\x{10FFFF}]|bar\z`},
		{`(?m)^foo$`, `(?:\A|` + ends + `)foo(?:\z|` + ends + `)`, ""},
		{`(?i)k`, `[\x{4B}\x{6B}]`, ""},
		{`(?iu)k`, `[\x{4B}\x{6B}\x{212A}]`, ""},
		{`(?x) a b # c`, `ab`, ""},
		{`\Qa.b\E+`, `a\.b+`, ""},
		{`(?<name>a)(b)`, `ab`, ""},
		{`a{2}b{2,}c{2,3}?`, `a{2,2}b{2,}c{2,3}`, ""},
		{`[[a-c]x]`, `[\x{61}-\x{63}\x{78}]`, ""},
		{`\uD83D\uDE00`, `😀`, ""},
		{`[\x{0}-\x{10FFFF}]`, `(?s:.)`, ""},
	} {
		r, err := Compile(row.java)
		if err != nil {
			t.Errorf("%q: %v", row.java, err)
			continue
		}
		cut := ""
		if r.cut != nil {
			cut = r.cut.String()
		}
		if r.whole.String() != row.whole || cut != row.cut {
			t.Errorf("%q becomes %q and %q, want %q and %q", row.java, r.whole, cut, row.whole, row.cut)
		}
	}
}

func TestRefusals(t *testing.T) {
	for _, row := range []struct{ java, want string }{
		{`a(?=b)`, `the look-ahead "(?=", which RE2 can't run, at 2`},
		{`a(?!b)`, `the look-ahead "(?!", which RE2 can't run, at 2`},
		{`(?<=a)b`, `the look-behind "(?<=", which RE2 can't run, at 1`},
		{`(?<!a)b`, `the look-behind "(?<!", which RE2 can't run, at 1`},
		{`(a)\1`, `the back reference "\1", which RE2 can't run, at 4`},
		{`(?<n>a)\k<n>`, `the back reference "\k", which RE2 can't run, at 8`},
		{`a++`, `the possessive quantifier "++", which RE2 can't run, at 2`},
		{`a{2}+`, `the possessive quantifier "{2}+", which RE2 can't run, at 2`},
		{`(?>a)`, `the atomic (possessive) group "(?>", which RE2 can't run, at 1`},
		{`[a-z&&[^b]]`, `the class intersection "&&", which RE2 can't run, at 5`},
		{`a{1001}`, `a repeat of over 1000, which RE2 can't run, at 2`},
		{`(a{100}){11}`, `nested repeats of together over 1000, which RE2 can't run, at 1`},
		{`\X`, `\X (a grapheme cluster), which RE2 can't run, at 1`},
		{`\b{g}`, `\b{g} (the border of a grapheme cluster), which RE2 can't run, at 1`},
		{`\N{DIGIT ONE}`, `\N (a rune by its name), which RE2 can't run, at 1`},
		{`(?U)\b`, `\b under (?U), which RE2 can't run, at 5`},
		{`\p{InGreek}`, `the Unicode block "Greek", which RE2 can't run, at 1`},
		{`\p{javaMirrored}`, `the class "javaMirrored", which RE2 can't run, at 1`},
		{`\p{IsLatn}`, `the script code "Latn", which is not known here (write the script's name), at 1`},
		{`\p{IsEmoji}`, `the class "EMOJI", which RE2 can't run, at 1`},
		{`a$\n`, `a "$" or "\Z" that a line end must follow, which RE2 can't run, at 1`},
		{`a(?m)^b`, `a (?m) "^" or "$" in the middle of a pattern, which RE2 can't run, at 1`},
		{`(?m)(^a\n)+`, `a (?m) "^" or "$" within a repeat, which RE2 can't run, at 1`},
		{`(?m)^\b`, `a (?m) "^" before an assertion alone, which RE2 can't run, at 1`},
		{`a$|(?d)b$`, `a mixture of "$" with and without (?d), which RE2 can't run, at 1`},
		{`(?m)([^a]?)+$`, `a repeat of what may be empty beside a (?m) "^" or "$", which RE2 can't run, at 1`},
		{`a{`, `a repeat that is not {n}, {n,} or {n,m} at 2`},
		{`{`, `a repeat that is not {n}, {n,} or {n,m} at 1`},
		{`a{2,1}`, `a repeat of at least 2 and at most 1 at 2`},
		{`*a`, `'*' with nothing before it to repeat at 1`},
		{`(a`, `"(" without its ")" at 1`},
		{`a)`, `an unmatched ")" at 2`},
		{`[a`, `"[" without its "]" at 1`},
		{`[b-a]`, `a range whose end comes before its start, or is no character, at 3`},
		{`(?P<n>a)`, `the unknown flag 'P' at 1`},
		{`(?<n>a)(?<n>b)`, `a second group named "n" at 8`},
		{`\y`, `the unknown escape "\y" at 1`},
		{`\`, `a backslash with nothing behind it at 1`},
		{`\p{Foo}`, `the unknown class "\p{Foo}" at 1`},
		{`\x{110000}`, `"\x{" without a hexadecimal number up to 10FFFF and "}" at 1`},
	} {
		_, err := Compile(row.java)
		if err == nil || err.Error() != row.want {
			t.Errorf("%q: %v, want %s", row.java, err, row.want)
		}
	}
}

// TestLimits tries each limit at it and above it.
func TestLimits(t *testing.T) {
	nested := func(open, in, shut string, n int) string {
		return strings.Repeat(open, n) + in + strings.Repeat(shut, n)
	}
	letters := MaxRanges / len(fromTables(unicode.L)) // classes of all letters that fit
	for _, row := range []struct {
		name, pattern string
		ok            bool
	}{
		{"repeat", fmt.Sprintf("a{%d}", MaxRepeat), true},
		{"repeat", fmt.Sprintf("a{%d}", MaxRepeat+1), false},
		{"product", "(a{10}){100}", true},
		{"product", "(a{10}){101}", false},
		{"groups", nested("(", "a", ")", MaxNesting), true},
		{"groups", nested("(", "a", ")", MaxNesting+1), false},
		{"classes", nested("[", "a", "]", MaxNesting), true},
		{"classes", nested("[", "a", "]", MaxNesting+1), false},
		{"steps", strings.Repeat("a", MaxSteps), true},
		{"steps", strings.Repeat("a", MaxSteps+1), false},
		{"steps of repeats", strings.Repeat("(abcd){999}", 2), true},
		{"steps of repeats", strings.Repeat("(abcd){1000}", 3), false},
		{"steps of branches", "(ab|c|d|e){1000}", true},
		{"steps of branches", "(ab|cd|ef|g){1000}", false},
		{"steps of optional parts", "(?:a?b?c?d?){1000}", true},
		{"steps of optional parts", "(?:a?b?c?d?e?){1000}", false},
		{"ranges", strings.Repeat(`\p{L}`, letters), true},
		{"ranges", strings.Repeat(`\p{L}`, letters+1), false},
		{"cases at a line's end", "(?m)" + strings.Repeat(`(?:[^x]?|[^y]?)`, 20) + "$", false},
	} {
		r, err := Compile(row.pattern)
		var e *Error
		switch {
		case row.ok != (err == nil), err != nil && !errors.As(err, &e):
			t.Errorf("%s, a pattern of %d bytes: error %v, want none: %v", row.name, len(row.pattern), err, row.ok)
		case row.ok && r.Steps() > MaxSteps:
			t.Errorf("%s: %d steps", row.name, r.Steps())
		}
	}
}

func TestBytesThatAreNoUTF8(t *testing.T) {
	for _, row := range []struct {
		pattern, text string
		want          bool
	}{
		{"^a.b$", "a\xffb", true},
		{"a\xffb", "a\xfeb", true}, // each is U+FFFD
		{"a\uFFFDb", "a\xffb", true},
		{"\\uD800", "\xed\xa0\x80", false}, // a lone surrogate is in no text
		{"\xed\xa0\x80", "\xed\xa0\x80", false},
		{"[\xed\xa0\x80a]", "a", true},
	} {
		r, err := Compile(row.pattern)
		if err != nil {
			t.Errorf("%q: %v", row.pattern, err)
		} else if got := r.Match([]byte(row.text)); got != row.want {
			t.Errorf("%q in %q: %v", row.pattern, row.text, got)
		}
	}
}
