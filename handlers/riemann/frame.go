package riemann

import (
	"encoding/binary"
	"fmt"
	"math"
	"strings"
)

// HeaderSize is the length of what stands before each Msg on a stream: its
// length, 4 bytes, big-endian.
const HeaderSize = 4

// Ack is the reply to a request without query: ok = true and nothing else. It
// must not be changed.
var Ack = []byte{0, 0, 0, 2, 0x10, 1}

// BeginFrame appends room for the length of a frame, which EndFrame fills in.
// start, for EndFrame, is the length of dst.
func BeginFrame(dst []byte) []byte { return append(dst, 0, 0, 0, 0) }

// EndFrame writes the length of the frame that begins at dst[start:].
func EndFrame(dst []byte, start int) { SetLength(dst, start, len(dst)-start-HeaderSize) }

// SetLength writes the length n of the frame that begins at dst[start:] and goes on
// elsewhere.
func SetLength(dst []byte, start, n int) {
	if n < 0 || uint64(n) > math.MaxUint32 {
		panic(fmt.Sprintf("BUG: a frame of %d bytes", n))
	}
	binary.BigEndian.PutUint32(dst[start:], uint32(n))
}

// BeginReply begins the frame of a reply with ok = true. Events follow with
// AppendEventField; EndFrame(dst, start) ends it, start being the length of dst.
func BeginReply(dst []byte) []byte { return append(dst, 0, 0, 0, 0, tagOK, 1) }

// AppendEventField appends an encoded event as a field of a Msg.
func AppendEventField(dst, event []byte) []byte { return appendBytesField(dst, tagEvents, event) }

// AppendQueryField appends a query as a field of a Msg.
func AppendQueryField(dst []byte, text string) []byte {
	dst = appendLength(dst, tagQuery, sizeField(len(text)))
	return appendBytesField(dst, tagString, text)
}

// AppendError appends a whole reply with ok = false and the error's text, in
// which invalid UTF-8 is replaced, because some clients insist on it.
func AppendError(dst []byte, text string) []byte {
	start := len(dst)
	dst = append(BeginFrame(dst), tagOK, 0)
	dst = appendBytesField(dst, tagError, strings.ToValidUTF8(text, "\uFFFD"))
	EndFrame(dst, start)
	return dst
}
