package web

import (
	"bufio"
	"bytes"
	"fmt"

	"github.com/valyala/fasthttp"

	"darboux/frame"
)

// mostKnown is the size in bytes up to which a request is kept to be known again.
const mostKnown = 2 << 10

// known is the request that was worked last: clients ask the same again and again, and
// the same bytes need not be parsed again. A handler may change what it gets, so it gets
// a copy.
type known struct {
	bytes   []byte
	request frame.HTTPRequest // its parts lie in bytes
	header  fasthttp.RequestHeader
	parsed  bool // header holds the request's head

	source bytes.Reader
	reader *bufio.Reader // over source: fasthttp reads heads from one
}

// next splits the first request off b, and reports whether it is the known one; if not it
// becomes that.
func (k *known) next(b []byte) (r frame.HTTPRequest, rest []byte, again bool) {
	if r, rest, again = k.request.Next(b); again {
		return r, rest, true
	}
	r, rest = frame.NextHTTP(b)
	k.parsed, k.request = false, frame.HTTPRequest{}
	if n := len(b) - len(rest); n <= mostKnown {
		k.bytes = append(k.bytes[:0], b[:n]...)
		k.request = r.In(k.bytes)
	}
	return r, rest, false
}

// parse makes header that of a request's head. An error is something that fasthttp minds
// beyond the framing.
func (k *known) parse(header *fasthttp.RequestHeader, r *frame.HTTPRequest, again bool) error {
	if !again {
		return k.read(header, r)
	}
	if !k.parsed {
		k.header.Reset()
		if err := k.read(&k.header, r); err != nil {
			return err
		}
		k.parsed = true
	}
	k.header.CopyTo(header)
	return nil
}

func (k *known) read(header *fasthttp.RequestHeader, r *frame.HTTPRequest) error {
	k.source.Reset(r.Head)
	k.reader.Reset(&k.source)
	if err := header.Read(k.reader); err != nil {
		return fmt.Errorf("the request's head is refused: %w", err)
	}
	length := header.ContentLength()
	if (length == -1) != r.Chunked || length >= 0 && length != len(r.Body) {
		return fmt.Errorf("the request's length is not clear: %d", length)
	}
	return nil
}
