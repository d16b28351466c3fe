package loop

import (
	"encoding/binary"
	"errors"
	"net/netip"
	"sync/atomic"

	"darboux/frame"
)

// The toy protocol of these tests: a request is a sequence number, the number of
// bytes that its reply is to have, and filling. The reply is the sequence number and
// filling.

// toyMax is the longest frame of the toy protocol.
const toyMax = 1 << 20

func toyProtocol() *frame.Protocol {
	return &frame.Protocol{
		Name:      "toy",
		MaxFrame:  frame.Limit{Flag: "--max-frame", Value: toyMax},
		Cut:       frame.CutLengthPrefixed,
		NewWorker: func() frame.Worker { return &toyWorker{} },
		Refuse:    func(dst []byte, err error) []byte { return append(dst, err.Error()...) },
		Refused:   "refused frame",
		Describe:  func(error) string { return "" },
	}
}

// datagramWorker hands the datagrams that it gets, with where they came from, to got.
type datagramWorker struct {
	got func(body []byte, from netip.AddrPort)
}

func (w datagramWorker) Work(b *frame.Burst) frame.Status {
	for i := 0; b.Next < len(b.In); i++ {
		body, rest := frame.Next(b.Left())
		b.Next = len(b.In) - len(rest)
		w.got(body, b.From[i])
	}
	return frame.Done
}

// toyRequest is a request of so many bytes, at least 12 with its header.
func toyRequest(seq, size, replySize int) []byte {
	b := make([]byte, max(size, 12))
	binary.BigEndian.PutUint32(b, uint32(len(b)-frame.HeaderLen))
	binary.BigEndian.PutUint32(b[4:], uint32(seq))
	binary.BigEndian.PutUint32(b[8:], uint32(replySize))
	return b
}

// toyReply is the reply to toyRequest(seq, any, size).
func toyReply(seq, size int) []byte {
	b := make([]byte, max(size, 8))
	binary.BigEndian.PutUint32(b, uint32(len(b)-frame.HeaderLen))
	binary.BigEndian.PutUint32(b[4:], uint32(seq))
	return b
}

// toyWorker answers toy requests, each in one slice or, if slices is set, in as many.
type toyWorker struct {
	slices int
	begun  int                                // frames and slices begun
	wait   func(b *frame.Burst) bool          // takes a burst that is to wait between two slices; nil never does
	long   func() bool                        // whether the next frame of a brief burst is not; nil: each one is brief
	stream func(b *frame.Burst, s *toyStream) // is told of each reply that is streamed, which all large ones are; nil: none is
}

// toyKept counts what toy workers keep and have not let go of.
var toyKept atomic.Int64

// toySlices is a reply that is worked in slices. Until these are over a byte stands for it, if there is room.
type toySlices struct {
	left  int
	start int // where in Out
}

func (*toySlices) Release() { toyKept.Add(-1) }

// toyStream is the rest of a large reply.
type toyStream struct {
	rest   []byte
	broken atomic.Bool
	room   int // of extra
	extra  *frame.Reserve
}

func (s *toyStream) Release() {
	toyKept.Add(-1)
	if s.room > 0 {
		s.extra.Release(s.room)
	}
}

// Room is what the stream takes, if a test wants it to.
func (s *toyStream) Room() int { return s.room }

var errToy = errors.New("as the test wants it")

func (s *toyStream) Broken() error {
	if s.broken.Load() {
		return errToy
	}
	return nil
}

// goOn appends what the window has room for, and reports whether that was all.
func (s *toyStream) goOn(b *frame.Burst) bool {
	n := min(len(s.rest), max(0, b.Window-len(b.Out)))
	b.Out = append(b.Out, s.rest[:n]...)
	s.rest = s.rest[n:]
	return len(s.rest) == 0
}

func (w *toyWorker) Work(b *frame.Burst) frame.Status {
	if s, ok := b.Kept.(*toyStream); ok && !b.Gone() {
		switch {
		case s.Broken() != nil:
			b.Close = true
			return frame.Done
		case !s.goOn(b):
			return frame.Blocked
		}
		b.GiveUp()
	}
	for b.Next < len(b.In) {
		if b.Gone() {
			return frame.Done
		}
		if b.Kept == nil && len(b.Out) >= b.Window {
			return frame.Blocked
		}
		if b.Brief && w.long != nil && w.long() {
			return frame.Yielded
		}
		w.begun++
		if !w.slice(b) {
			if s := b.Kept.(*toySlices); b.SetAside(s.start) {
				s.start = 0
				return frame.Blocked
			}
			if !b.Brief && w.wait != nil && w.wait(b) {
				return frame.Waiting
			}
			return frame.Yielded
		}
		body, rest := frame.Next(b.Left())
		b.Next = len(b.In) - len(rest)
		if !w.reply(b, int(binary.BigEndian.Uint32(body)), int(binary.BigEndian.Uint32(body[4:]))) {
			return frame.Blocked
		}
	}
	return frame.Done
}

// reply appends a reply, or as much of it as there is room for: then it returns false, and
// the rest is kept.
func (w *toyWorker) reply(b *frame.Burst, seq, size int) bool {
	if w.stream != nil && size > frame.MaxSmallReply {
		s := &toyStream{rest: toyReply(seq, size)}
		toyKept.Add(1)
		b.Kept = s
		w.stream(b, s)
		if !s.goOn(b) {
			if b.Next == len(b.In) {
				b.DropIn()
			}
			return false
		}
		b.GiveUp()
		return true
	}
	if !b.Grow(size) {
		size = 8
	}
	b.Out = append(b.Out, toyReply(seq, size)...)
	return true
}

// slice reports whether the frame at hand has had all its slices.
func (w *toyWorker) slice(b *frame.Burst) bool {
	if b.Kept == nil {
		b.Kept = &toySlices{left: w.slices, start: len(b.Out)}
		if b.Grow(1) {
			b.Out = append(b.Out, 0)
		}
		toyKept.Add(1)
	}
	s := b.Kept.(*toySlices)
	if s.left > 0 {
		s.left--
		return false
	}
	b.Out = b.Out[:s.start]
	b.GiveUp()
	return true
}
