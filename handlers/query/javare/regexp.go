package javare

import (
	"bytes"
	"fmt"
	"regexp"
)

// The limits of one pattern.
const (
	// MaxSteps bounds the steps of the compiled program: a rune, a class or a branch
	// is one step, a repeat takes its body as often as it says. A match takes at
	// worst all steps for each rune of the text.
	MaxSteps = 10_000
	// MaxRanges bounds the ranges of runes in all classes as written.
	MaxRanges = 50_000
	// MaxRepeat bounds a repeat's count, and the product of nested ones; it is RE2's.
	MaxRepeat = 1_000
	// MaxNesting bounds the levels of groups and of classes in classes.
	MaxNesting = 200
)

// Regexp is a compiled pattern. It never changes: any goroutine may use it.
type Regexp struct {
	whole *regexp.Regexp // for a text as it is
	// cut is for a text without the line end that it ends in; nil if the pattern
	// never looks there. See final.go.
	cut   *regexp.Regexp
	unix  bool // only \n is a line end to cut
	steps int
}

// Error tells what in a pattern is wrong or can't be run.
type Error struct {
	At   int    // the rune of the pattern, from 1 on
	What string // as in: found What at At
}

func (e *Error) Error() string { return fmt.Sprintf("%s at %d", e.What, e.At) }

// Compile reads a pattern of java.util.regex. An error is an *Error.
func Compile(pattern string) (*Regexp, error) {
	tree, err := parse(pattern)
	if err != nil {
		return nil, err
	}
	return compile(tree)
}

func compile(tree node) (r *Regexp, err error) {
	defer catch(&err)
	tree = anchorLines(tree)
	ends := finalEnds(tree)
	r = &Regexp{unix: ends.unix, steps: countSteps(tree)}
	if r.whole, err = regexp.Compile(printWhole(tree)); err != nil {
		return nil, &Error{1, "what RE2 refuses: " + err.Error()}
	}
	if ends.any {
		if r.cut, err = regexp.Compile(printCut(tree)); err != nil {
			return nil, &Error{1, "what RE2 refuses: " + err.Error()}
		}
	}
	return r, nil
}

// Steps is the size of the compiled program, at most MaxSteps.
func (r *Regexp) Steps() int {
	if r.cut != nil {
		return 2 * r.steps
	}
	return r.steps
}

// Size is roughly the memory that r takes, in bytes.
func (r *Regexp) Size() int {
	size := sizeOf(r.whole, r.steps)
	if r.cut != nil {
		size += sizeOf(r.cut, r.steps)
	}
	return size
}

// sizeOf is measured; package query tests it.
func sizeOf(re *regexp.Regexp, steps int) int { return 512 + 2*len(re.String()) + 64*steps }

// Match reports whether the pattern is found anywhere in text. Bytes that are no
// UTF-8 count as U+FFFD each. It allocates nothing once it is warm.
func (r *Regexp) Match(text []byte) bool {
	if r.whole.Match(text) {
		return true
	}
	if r.cut == nil {
		return false
	}
	n := lastLineEnd(text, r.unix)
	return n > 0 && r.cut.Match(text[:len(text)-n])
}

// LastLineEnd is the number of bytes of the line end in which text ends, 0 if it
// ends in none. Java knows \n, \r\n, \r, U+0085, U+2028 and U+2029.
func LastLineEnd(text []byte) int { return lastLineEnd(text, false) }

func lastLineEnd(text []byte, unix bool) int {
	switch {
	case unix:
		if bytes.HasSuffix(text, newline) {
			return 1
		}
		return 0
	case bytes.HasSuffix(text, crlf), bytes.HasSuffix(text, nextLine):
		return 2
	case bytes.HasSuffix(text, newline), bytes.HasSuffix(text, carriageReturn):
		return 1
	case bytes.HasSuffix(text, lineSeparator), bytes.HasSuffix(text, paragraphSeparator):
		return 3
	}
	return 0
}

// Java's line ends.
var (
	newline            = []byte("\n")
	carriageReturn     = []byte("\r")
	crlf               = []byte("\r\n")
	nextLine           = []byte("\u0085")
	lineSeparator      = []byte("\u2028")
	paragraphSeparator = []byte("\u2029")
)
