package web

import (
	"errors"
	"io"

	"github.com/valyala/fasthttp"
)

// Write lets write make the reply's body: it is called with where to write to, on a
// goroutine of its own, which waits whenever the client doesn't keep up. size is the
// body's length in bytes if that is known, else -1. write must not touch ctx. An error
// of it spoils the reply: it becomes status 500 if nothing has left, else the connection
// is closed without the body's end. Once the client is gone its writes fail. It is not
// called for HEAD.
func Write(ctx *fasthttp.RequestCtx, size int, write func(w io.Writer) error) {
	ctx.Response.SetBodyStream(writing(write), size)
}

// writing makes a body stream of a function; whoever serves it calls WriteTo.
type writing func(w io.Writer) error

// WriteTo implements io.WriterTo.
func (f writing) WriteTo(w io.Writer) (int64, error) {
	counted := &countingWriter{w: w}
	err := f(counted)
	return counted.n, err
}

// Read only makes it an io.Reader, which fasthttp wants.
func (f writing) Read([]byte) (int, error) {
	return 0, errors.New("BUG: a body's writer is read instead of being called")
}

type countingWriter struct {
	w io.Writer
	n int64
}

func (c *countingWriter) Write(p []byte) (int, error) {
	n, err := c.w.Write(p)
	c.n += int64(n)
	return n, err
}

// Sliced is a body stream (SetBodyStream, of any size) that is worked in slices on the
// handlers, between which others have their turn: it needs no goroutine, and must not
// wait. If it is an io.Closer, it is closed once, however the reply ends.
type Sliced interface {
	io.Reader // not called here
	// Slice appends what comes next to dst and returns it. It stops when dst has limit
	// bytes or more, which it may exceed by one piece, or when a slice's work is done. At
	// the end of the body the error is io.EOF; any other one spoils the reply.
	Slice(dst []byte, limit int) ([]byte, error)
}
