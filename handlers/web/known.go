package web

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"

	"github.com/valyala/fasthttp"

	"darboux/frame"
)

// mostKnown is the size in bytes up to which a request is kept to be known again.
const mostKnown = 2 << 10

// known is the request that was worked last: clients ask the same again and again, and
// the same bytes need not be parsed again. A handler may change what it gets, so it gets
// a copy; of brief requests, which are left as they are, one copy for all that are the same.
type known struct {
	number  int // another one for each request that is not the one before it, from 1
	bytes   []byte
	request frame.HTTPRequest // its parts lie in bytes; zero if it was too long to be kept
	header  fasthttp.RequestHeader
	uri     fasthttp.URI
	err     error                  // why header and uri are not to be used
	isBrief func(path []byte) bool // nil: none
	brief   bool                   // the loop that has it may answer it, and it is left as it is

	source bytes.Reader
	reader *bufio.Reader // over source: fasthttp reads heads from one
}

// next splits the first request off b, and makes it the known one unless it is that.
func (k *known) next(b []byte) (r frame.HTTPRequest, rest []byte) {
	r, rest, again := k.request.Next(b)
	if again {
		return r, rest
	}
	r, rest = frame.NextHTTP(b)
	k.number++
	k.err = k.parse(&r)
	k.brief = k.err == nil && len(r.Body) == 0 && k.isBrief != nil && k.isBrief(k.uri.Path())
	k.request = frame.HTTPRequest{}
	if n := len(b) - len(rest); n <= mostKnown {
		k.bytes = append(k.bytes[:0], b[:n]...)
		k.request = r.In(k.bytes)
	}
	return r, rest
}

// parse reads what a request's head says. An error is something that fasthttp minds
// beyond the framing.
func (k *known) parse(r *frame.HTTPRequest) error {
	k.header.Reset()
	k.source.Reset(r.Head)
	k.reader.Reset(&k.source)
	if err := k.header.Read(k.reader); err != nil {
		return refusedHead(err)
	}
	length := k.header.ContentLength()
	if (length == -1) != r.Chunked || length >= 0 && length != len(r.Body) {
		return fmt.Errorf("the request's length is not clear: %d", length)
	}
	if err := k.uri.Parse(k.header.Host(), k.header.RequestURI()); err != nil {
		return fmt.Errorf("the request names no valid host: its target is %.100q, its Host %.100q", k.header.RequestURI(), k.header.Host())
	}
	return nil
}

// refusedHead says in our words why fasthttp refuses a head; it quotes its buffers.
func refusedHead(err error) error {
	if errors.Is(err, fasthttp.ErrBadTrailer) {
		return errors.New("the header Trailer names one that can't stand in a trailer")
	}
	return errors.New("the request's head can't be understood")
}

// copyTo makes req the known request, but for its body.
func (k *known) copyTo(req *fasthttp.Request) {
	k.header.CopyTo(&req.Header)
	req.SetURI(&k.uri)
}
