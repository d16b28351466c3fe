package javare

import (
	"errors"
	"testing"
	"unicode/utf8"
)

// FuzzCompile compiles any pattern and looks for it in any text: there is an
// answer or an *Error about a rune of the pattern, and never a panic.
func FuzzCompile(f *testing.F) {
	for _, seed := range [][2]string{
		{`^disk[0-9]+$`, "disk1\n"}, {`(?m)^\s*$`, "a\r\n\r\nb"}, {`(?ix) a [b-d]{2,3}? #c`, "ABC"},
		{`[a[^b]\Q]-\E]`, "]"}, {`\p{IsLatin}\P{Lu}\pL`, "éa"}, {`(?<n>a|(?-s:.))\Z\z`, "a"},
		{`\uD83D\uDE00\x{41}\0101\cA`, "😀AA\x01"}, {`(?m)(?:a|[^b])+$|\R`, "x\r\n"},
	} {
		f.Add(seed[0], []byte(seed[1]))
	}
	f.Fuzz(func(t *testing.T, pattern string, text []byte) {
		r, err := Compile(pattern)
		if err != nil {
			var e *Error
			if !errors.As(err, &e) || e.At < 1 || e.At > utf8.RuneCountInString(pattern)+1 {
				t.Fatalf("%q: %#v", pattern, err)
			}
			return
		}
		if r.Steps() > 2*MaxSteps {
			t.Errorf("%q: %d steps", pattern, r.Steps())
		}
		r.Match(text)
	})
}
