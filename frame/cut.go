package frame

import (
	"encoding/binary"
	"fmt"
)

// HeaderLen is the length of the header in front of a length-prefixed frame:
// an unsigned 32-bit big-endian count of the bytes that follow.
const HeaderLen = 4

// Cut is what stands at the head of the bytes read from a stream. The whole frames come
// behind what is to be skipped.
type Cut struct {
	Skip    int      // bytes at the head that are no part of a frame and are dropped
	Bytes   int      // bytes of the whole frames behind them, headers included
	Frames  int      // number of those frames; no more than fit in the room asked for
	Need    int      // most bytes of the next frame, header included, when that frame is not whole but such a number is known; else 0
	Interim []byte   // what the peer is to be sent before it sends the rest of that frame; nil is nothing
	Behind  Progress // what is known already of what follows the frames
}

// Progress is what a cut remembers of a stream from one call to the next, so that
// nothing is looked at twice. It begins as its zero value, and as Cut.Behind when the
// frames of a cut are taken; until then the same bytes may be cut again.
type Progress struct {
	At    int // bytes of the frame that has begun which need no further look
	State int // a protocol's own
}

// Limit is a number that users know by the name of a flag.
type Limit struct {
	Flag  string // such as "--max-frame"
	Value int    // in bytes where nothing else is said
}

// TooLongError refuses a frame by its header: its length is over the limit.
type TooLongError struct {
	Length uint32 // as the header says, without the header
	Limit  Limit
	Head   []byte // the first bytes of the frame, at most 8; valid until the stream's buffer is read into again
}

// Error names the length, the limit and its flag, as the client is told.
func (e *TooLongError) Error() string {
	return fmt.Sprintf("frame of %d bytes is over the limit of %d bytes (%s)", e.Length, e.Limit.Value, e.Limit.Flag)
}

// CutLengthPrefixed counts the whole length-prefixed frames at the head of b
// without decoding them and without allocating. It stops before the frame that
// would take the sum over room, but always takes the first one. A length is
// compared before it is converted, so a header alone is enough to refuse its
// frame: the Cut then holds the frames in front of it and the error is a
// *TooLongError. What is left when the stream has ended is no frame.
func CutLengthPrefixed(b []byte, max Limit, room int, _ bool, _ *Progress) (Cut, error) {
	var c Cut
	for len(b)-c.Bytes >= HeaderLen {
		length := binary.BigEndian.Uint32(b[c.Bytes:])
		if uint64(length) > uint64(max.Value) {
			return c, &TooLongError{Length: length, Limit: max, Head: head(b[c.Bytes:])}
		}
		total := HeaderLen + int(length)
		if total > len(b)-c.Bytes {
			c.Need = total
			return c, nil
		}
		if c.Frames > 0 && c.Bytes+total > room {
			return c, nil
		}
		c.Bytes += total
		c.Frames++
	}
	return c, nil
}

// Next splits the first length-prefixed frame off b: its body, and what follows
// it. The caller must know from a Cut that the frame is whole.
func Next(b []byte) (body, rest []byte) {
	end := HeaderLen + int(binary.BigEndian.Uint32(b))
	return b[HeaderLen:end:end], b[end:]
}

func head(b []byte) []byte {
	return b[:min(len(b), 8)]
}
