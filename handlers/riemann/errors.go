package riemann

import "fmt"

// problem is a reason for which wire bytes are refused; 0 is none. Decoders
// pass it where an index goes, negated.
type problem int

const (
	truncated problem = iota + 1
	tooLong
	overlong
	badNumber
	badWireType
	badGroup
	strayEnd
	keyMissing
	tooLarge
)

var problemTexts = [...]string{
	truncated:   "the bytes end within a field",
	tooLong:     "a length runs past the end",
	overlong:    "a varint is longer than 64 bits",
	badNumber:   "a field number is 0 or over 536870911",
	badWireType: "a wire type is 6 or 7",
	badGroup:    "a group is not closed, or nested too deep",
	strayEnd:    "a group ends that never began",
	keyMissing:  "the required key is missing",
	tooLarge:    "more than 4294967295 bytes",
}

// Error says why wire bytes were refused and where.
type Error struct {
	At   int    // byte offset in what was parsed: the Event or the Msg
	In   string // path of the innermost message, such as "events[2].attributes[0]"
	What string // the reason, in words
}

func (e *Error) Error() string {
	return fmt.Sprintf("undecodable message: at byte %d, in %s: %s", e.At, e.In, e.What)
}

// Names for the outermost messages, in errors.
const (
	theEvent = "the event"
	theMsg   = "the Msg"
)
