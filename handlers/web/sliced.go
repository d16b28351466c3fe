package web

import (
	"errors"
	"io"
	"strconv"

	"github.com/valyala/fasthttp"

	"darboux/frame"
)

const (
	// firstBuffer is the size in bytes up to which a body is sent with its length.
	firstBuffer = frame.MaxSmallReply
	// chunkSize is the bytes of a body that leave as one chunk.
	chunkSize = 16 << 10
	// mostUnsent is how many chunks of a body may wait for the kernel.
	mostUnsent = 4
)

var (
	errNoRoom = errors.New("the reply finds no room in --memory now; ask again")
	errHTTP10 = errors.New("a body of unknown length needs HTTP/1.1")
)

// sliced is a Sliced body on its way. It needs no memory but the burst's: until it is
// known to be long its bytes stand in Out, from start on, without a head.
type sliced struct {
	x         *exchange
	source    Sliced
	start     int // where in Out the reply begins
	streaming bool
	chunk     int // where in Out the open chunk's header begins; -1 is none
}

// first is how long a body may become before its reply is streamed: less where memory is
// short.
func first(b *frame.Burst) int { return min(firstBuffer, max(leastPiece, b.Own/2)) }

// chunk is how many bytes of a body make a chunk: less where memory is short.
func chunk(b *frame.Burst) int { return min(chunkSize, max(leastPiece, b.Own/4)) }

// chunkHead is the header of a chunk whose size is filled in when it is closed.
const chunkHead = "00000000\r\n"

func (s *sliced) goOn(w *worker, b *frame.Burst) frame.Status {
	if s.streaming && s.chunk < 0 && len(b.Out) >= b.Window {
		return frame.Blocked
	}
	err := s.slice(b)
	if !s.streaming && (err == nil || err == io.EOF) && len(b.Out)-s.start > first(b) {
		if serr := s.stream(w, b); serr != nil {
			err = serr
		}
	}
	switch {
	case err != nil:
		return s.ended(w, b, err)
	case s.streaming && len(b.Out)-s.chunk >= chunk(b):
		s.closeChunk(b)
	}
	return frame.Yielded
}

// letLeave lets what is whole in front of the reply leave, and what is whole of it.
func (s *sliced) letLeave(b *frame.Burst) bool {
	at := s.start
	if s.streaming {
		at = len(b.Out)
		if s.chunk >= 0 {
			at = s.chunk
		}
	}
	ok := b.SetAside(at)
	if ok {
		s.start, s.chunk = 0, min(s.chunk, 0)
	}
	return ok
}

// slice lets the source append its next slice.
func (s *sliced) slice(b *frame.Burst) (err error) {
	defer func() {
		if v := recover(); v != nil {
			s.x.panicked(v)
			err = errPanic
		}
	}()
	limit := s.start + first(b) + 1
	if s.streaming {
		if s.chunk < 0 {
			s.chunk = len(b.Out)
			b.Out = append(b.Out, chunkHead...)
		}
		limit = s.chunk + len(chunkHead) + chunk(b)
	}
	b.Out, err = s.source.Slice(b.Out, limit)
	if !b.Grow(0) && err == nil { // the last piece may have been large
		err = errNoRoom
	}
	return err
}

// stream puts the head and the first chunks in place of the body so far.
func (s *sliced) stream(w *worker, b *frame.Burst) error {
	if s.x.http10 {
		return errHTTP10
	}
	w.move = append(w.move[:0], b.Out[s.start:]...)
	b.Out = b.Out[:s.start]
	s.x.ctx.Response.Header.SetContentLength(-1)
	s.x.appendHead(b)
	for rest := w.move; len(rest) > 0; {
		n := min(len(rest), chunkSize)
		b.Out = appendChunk(b.Out, rest[:n])
		rest = rest[n:]
	}
	s.x.sent += int64(len(w.move))
	s.streaming = true
	w.tally[streamed]++
	if cap(w.move) > keepScratch {
		w.move = nil
	}
	return nil
}

func appendChunk(dst, p []byte) []byte {
	dst = strconv.AppendInt(dst, int64(len(p)), 16)
	dst = append(append(dst, '\r', '\n'), p...)
	return append(dst, '\r', '\n')
}

// closeChunk fills in the open chunk's size, or takes the chunk away if it is empty.
func (s *sliced) closeChunk(b *frame.Burst) {
	if s.chunk < 0 {
		return
	}
	n := len(b.Out) - s.chunk - len(chunkHead)
	if n == 0 {
		b.Out = b.Out[:s.chunk]
	} else {
		for i, rest := s.chunk+7, n; i >= s.chunk; i, rest = i-1, rest>>4 {
			b.Out[i] = "0123456789abcdef"[rest&15]
		}
		b.Out = append(b.Out, '\r', '\n')
		s.x.sent += int64(n)
	}
	s.chunk = -1
}

// ended ends the reply: err is io.EOF or why it is not whole.
func (s *sliced) ended(w *worker, b *frame.Burst, err error) frame.Status {
	s.closeChunk(b)
	if err == io.EOF {
		err = nil
	}
	switch {
	case s.streaming && err != nil: // without the last chunk, so that nobody takes it for whole
		s.x.close = true
	case s.streaming:
		b.Out = append(b.Out, "0\r\n\r\n"...)
	case err != nil:
		b.Out = b.Out[:s.start]
		s.x.sendFailure(b, err)
	default:
		w.move = append(w.move[:0], b.Out[s.start:]...)
		b.Out = b.Out[:s.start]
		s.x.ctx.Response.Header.SetContentLength(len(w.move))
		s.x.appendHead(b)
		b.Out = append(b.Out, w.move...)
		s.x.sent = int64(len(w.move))
	}
	if cerr := s.x.ctx.Response.CloseBodyStream(); err == nil && cerr != nil {
		s.x.http.Report("reply failed", s.x.peer, "closing the body: "+cerr.Error())
	}
	s.x.finish(&w.tally, b, err)
	return frame.Done
}

// sendFailure appends a reply about err in place of a body of which nothing has left.
func (x *exchange) sendFailure(b *frame.Burst, err error) {
	status := fasthttp.StatusInternalServerError
	var why *StatusError
	switch {
	case errors.As(err, &why):
		status = why.Status
	case err == errHTTP10:
		status = fasthttp.StatusHTTPVersionNotSupported
	case err == errNoRoom:
		status = fasthttp.StatusServiceUnavailable
	}
	x.fail(status, err)
	body := x.ctx.Response.Body()
	x.ctx.Response.Header.SetContentLength(len(body))
	x.appendHead(b)
	b.Out = append(b.Out, body...)
	x.sent = int64(len(body))
}

// StatusError is an error of a body's source that chooses the reply's status, if nothing
// has left.
type StatusError struct {
	Status int
	Text   string
}

func (e *StatusError) Error() string { return e.Text }

// Release notes that nobody waits for the rest.
func (s *sliced) Release() {
	_ = s.x.ctx.Response.CloseBodyStream() // nobody is there who could be told
	s.x.finishAlone(errGone)
}

// Room is what is kept of the request and by the source.
func (s *sliced) Room() int { return s.x.taken }

var (
	_ frame.Roomy = (*whole)(nil)
	_ frame.Roomy = (*sliced)(nil)
)
