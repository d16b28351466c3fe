package frame

import (
	"bytes"
	"fmt"
)

// HTTP cuts the requests of HTTP/1.1 and 1.0 from a stream. It is strict where leniency
// lets two readers of one stream disagree on where a request ends: what it takes has one
// meaning only. Its fields are set before it is used and not changed afterwards.
type HTTP struct {
	MaxHead Limit // bytes of a request's line and headers, the empty line included; and of its trailer
	MaxBody Limit // bytes of a body, without the framing of its chunks
}

// HTTPError refuses a request. The connection must be closed behind the reply: nobody
// knows where the next request begins.
type HTTPError struct {
	Status int    // of the reply, such as 400
	Text   string // what is wrong, in words
	Head   []byte // the first bytes of the request, at most 8; valid until the stream's buffer is read into again
}

func (e *HTTPError) Error() string { return e.Text }

func refuseHTTP(status int, format string, values ...any) *HTTPError {
	return &HTTPError{Status: status, Text: fmt.Sprintf(format, values...)}
}

// What a cut has found of a request that is not whole, as Progress.State: a phase, a mark,
// and above them a count of bytes.
const (
	inHead    = iota // At is where the search for the head's end goes on
	inSized          // At is the length of the request
	inChunks         // At is where a chunk begins; the count is that of the body so far
	inTrailer        // At is where a line of the trailer begins; the count is that of the lines before it

	phaseMask   = 3
	interimSent = 4
	countShift  = 3
)

const (
	// chunkLine is the most bytes of the line in front of a chunk.
	chunkLine = 256
	// ownChunks is how long a chunked request may grow before room for the longest one
	// is asked for; below it is within every connection's own budget.
	ownChunks = 64 << 10
)

var continueReply = []byte("HTTP/1.1 100 Continue\r\n\r\n")

// MaxFrame is the most bytes of a whole request: head, body, trailer, and what the
// framing of chunks may add.
func (h *HTTP) MaxFrame() int { return 2*h.MaxHead.Value + h.MaxBody.Value + h.chunkFraming() }

// chunkFraming is the most bytes that the framing of a body's chunks may take: enough
// for chunks of 24 bytes, and of any size in small bodies.
func (h *HTTP) chunkFraming() int { return h.MaxBody.Value/4 + ownChunks }

// Cut counts the whole requests at the head of b; see Protocol. Empty lines in front of
// a request are skipped. An error is an *HTTPError.
func (h *HTTP) Cut(b []byte, _ Limit, room int, _ bool, p *Progress) (Cut, error) {
	var c Cut
	if p.At == 0 {
		for emptyLine(b) > 0 {
			c.Skip, b = c.Skip+2, b[2:]
		}
		if len(b) == 1 && b[0] == '\r' {
			return c, nil // perhaps another one
		}
	}
	var later Progress // of the requests behind the first one
	for len(b) > c.Bytes {
		n, err := h.first(b[c.Bytes:], p, &c)
		if err != nil {
			err.Head = head(b[c.Bytes:])
			return c, err
		}
		if n == 0 || c.Frames > 0 && c.Bytes+n > room {
			return c, nil
		}
		c.Bytes += n
		c.Frames++
		*p = Progress{} // it may be asked again, with these requests still at the head
		p = &later
		c.repeat(b, n, room)
		if c.Bytes < len(b) && b[c.Bytes] == '\r' {
			return c, nil // an empty line, to be skipped by the next cut
		}
	}
	return c, nil
}

// repeat counts the requests behind the last one, of n bytes, that are the same bytes as
// it: who pipelines often asks the same. What was found of it holds for them.
func (c *Cut) repeat(b []byte, n, room int) {
	last := b[c.Bytes-n : c.Bytes]
	for len(b)-c.Bytes >= n && c.Bytes+n <= room && bytes.Equal(b[c.Bytes:c.Bytes+n], last) {
		c.Bytes += n
		c.Frames++
	}
}

// emptyLine is the length of the empty line at the head of b: 2 or 0.
func emptyLine(b []byte) int {
	if len(b) >= 2 && b[0] == '\r' && b[1] == '\n' {
		return 2
	}
	return 0
}

// first returns the length of the request at the head of b, or 0 if it is not whole; then
// p and c tell how far it has come.
func (h *HTTP) first(b []byte, p *Progress, c *Cut) (int, *HTTPError) {
	switch p.State & phaseMask {
	case inHead:
		return h.fromHead(b, p, c)
	case inSized:
		return h.sized(b, p, c), nil
	}
	return h.chunked(b, p, c)
}

// fromHead is first where nothing behind the head was looked at yet.
func (h *HTTP) fromHead(b []byte, p *Progress, c *Cut) (int, *HTTPError) {
	end, err := h.headEnd(b, p)
	if err != nil || end == 0 {
		return 0, err
	}
	head, err := parseHead(b[:end])
	if err != nil {
		return 0, err
	}
	if head.length > int64(h.MaxBody.Value) {
		return 0, h.tooLong(fmt.Sprint(head.length))
	}
	if head.expect && len(b) == end && head.length != 0 && p.State&interimSent == 0 {
		p.State |= interimSent
		c.Interim = continueReply
	}
	mark := p.State & interimSent
	if head.length >= 0 {
		p.At, p.State = end+int(head.length), inSized|mark
		return h.sized(b, p, c), nil
	}
	p.At, p.State = end, inChunks|mark
	return h.chunked(b, p, c)
}

func (h *HTTP) tooLong(length string) *HTTPError {
	return refuseHTTP(413, "body of %s bytes is over the limit of %d bytes (%s)", length, h.MaxBody.Value, h.MaxBody.Flag)
}

// headEnd returns the length of the head, its empty line included, or 0 if that is not
// there yet.
func (h *HTTP) headEnd(b []byte, p *Progress) (int, *HTTPError) {
	if !isToken(b[0]) {
		return 0, refuseHTTP(400, "the request begins with byte 0x%02x", b[0])
	}
	window := b[:min(len(b), h.MaxHead.Value)]
	if i := bytes.Index(window[p.At:], []byte("\r\n\r\n")); i >= 0 {
		return p.At + i + 4, nil
	}
	for i := p.At; ; i++ {
		n := bytes.IndexByte(window[i:], '\n')
		if n < 0 {
			break
		}
		if i += n; i == 0 || b[i-1] != '\r' {
			return 0, errBareLF
		}
	}
	if len(b) >= h.MaxHead.Value {
		return 0, refuseHTTP(431, "the request's head is over the limit of %d bytes (%s)", h.MaxHead.Value, h.MaxHead.Flag)
	}
	p.At = max(p.At, len(b)-3)
	return 0, nil
}

// sized is first for a request whose length is known.
func (h *HTTP) sized(b []byte, p *Progress, c *Cut) int {
	if len(b) < p.At {
		c.Need = p.At
		return 0
	}
	return p.At
}

// chunked is first for a request with a chunked body, from a chunk or a line of the
// trailer on.
func (h *HTTP) chunked(b []byte, p *Progress, c *Cut) (int, *HTTPError) {
	for p.State&phaseMask == inChunks {
		whole, err := h.chunk(b, p, c)
		if !whole || err != nil {
			return 0, err
		}
	}
	for {
		line, err := h.trailerLine(b[p.At:], p.State>>countShift)
		if line == 0 || err != nil {
			h.needChunks(p.At, c)
			return 0, err
		}
		if p.At += line; line == 2 {
			return p.At, nil
		}
		p.State += line << countShift
	}
}

// chunk goes past the chunk at p.At, if it is whole.
func (h *HTTP) chunk(b []byte, p *Progress, c *Cut) (whole bool, err *HTTPError) {
	line, size, err := chunkSize(b[p.At:])
	if line == 0 || err != nil {
		h.needChunks(p.At, c)
		return false, err
	}
	if size == 0 {
		p.At += line
		p.State = inTrailer | p.State&interimSent
		return true, nil
	}
	body := p.State >> countShift
	if size > int64(h.MaxBody.Value-body) {
		return false, h.tooLong("more")
	}
	end := p.At + line + int(size) + 2
	if end > h.MaxFrame()-h.MaxHead.Value-chunkLine {
		return false, refuseHTTP(413, "the framing of the body's chunks is over the limit of %d bytes, a quarter of %s and 64KiB", h.chunkFraming(), h.MaxBody.Flag)
	}
	if len(b) < end {
		h.needChunks(end, c)
		return false, nil
	}
	if b[end-2] != '\r' || b[end-1] != '\n' {
		return false, refuseHTTP(400, "a chunk does not end where its size says")
	}
	p.At = end
	p.State += int(size) << countShift
	return true, nil
}

// needChunks asks for the room of the longest request, once a chunked one is known to
// be no short one.
func (h *HTTP) needChunks(known int, c *Cut) {
	if known > ownChunks {
		c.Need = h.MaxFrame()
	}
}

// chunkSize reads the line in front of a chunk and returns its length, 0 if it is not
// whole, and the chunk's. Extensions are passed over.
func chunkSize(b []byte) (line int, size int64, err *HTTPError) {
	i := 0
	for ; i < len(b) && hexValue(b[i]) >= 0; i++ {
		if size = size<<4 | int64(hexValue(b[i])); i >= 15 {
			return 0, 0, refuseHTTP(400, "a chunk's size has more than 15 digits")
		}
	}
	if i == len(b) {
		return 0, 0, nil
	}
	if i == 0 || b[i] != '\r' && b[i] != ';' {
		return 0, 0, refuseHTTP(400, "a chunk's size is followed by, or begins with, %q", b[i:i+1])
	}
	for ; i < len(b) && b[i] != '\r'; i++ {
		if !isValue(b[i]) {
			return 0, 0, refuseHTTP(400, "the byte %q stands in a chunk's extension", b[i:i+1])
		}
		if i == chunkLine {
			return 0, 0, refuseHTTP(400, "the line in front of a chunk is over %d bytes", chunkLine)
		}
	}
	switch {
	case i+1 >= len(b):
		return 0, 0, nil
	case b[i+1] != '\n':
		return 0, 0, errBareCR
	}
	return i + 2, size, nil
}

// trailerLine returns the length of the line at the head of b, in a trailer of which used
// bytes stand before it; 2 is the last line, 0 one that is not whole.
func (h *HTTP) trailerLine(b []byte, used int) (int, *HTTPError) {
	n := bytes.IndexByte(b, '\n') + 1
	if least := max(n, 1); used+least > h.MaxHead.Value || n == 0 && used+len(b) >= h.MaxHead.Value {
		return 0, refuseHTTP(431, "the request's trailer is over the limit of %d bytes (%s)", h.MaxHead.Value, h.MaxHead.Flag)
	}
	switch {
	case n == 0 || n == 2 && b[0] == '\r':
		return n, nil
	case n == 1 || b[n-2] != '\r':
		return 0, errBareLF
	}
	name, _, err := headerLine(b[:n-2])
	if err != nil {
		return 0, err
	}
	if sameFold(name, "content-length") || sameFold(name, "transfer-encoding") || sameFold(name, "host") {
		return 0, refuseHTTP(400, "the header %s stands in a trailer", name)
	}
	return n, nil
}

// HTTPRequest is a whole request of a burst, as it was cut.
type HTTPRequest struct {
	Head    []byte // the request's line and headers, with the empty line
	Chunked bool   // Body is in chunks
	Body    []byte // as it came: in chunks, and with the trailer, if Chunked

	all []byte
}

// Next splits the request behind r off b, if it has the same bytes as r.
func (r *HTTPRequest) Next(b []byte) (same HTTPRequest, rest []byte, ok bool) {
	n := len(r.all)
	if n == 0 || len(b) < n || !bytes.Equal(b[:n], r.all) {
		return HTTPRequest{}, b, false
	}
	return r.In(b[:n:n]), b[n:], true
}

// In returns r as it lies in b, a copy of its bytes.
func (r *HTTPRequest) In(b []byte) HTTPRequest {
	head := len(r.Head)
	return HTTPRequest{Head: b[:head:head], Chunked: r.Chunked, Body: b[head:], all: b}
}

// NextHTTP splits the first request off b, and what follows it. The caller must know from
// a Cut that the request is whole.
func NextHTTP(b []byte) (r HTTPRequest, rest []byte) {
	end := bytes.Index(b, []byte("\r\n\r\n")) + 4
	head, err := parseHead(b[:end])
	if err != nil {
		panic("BUG: a request that was cut is refused: " + err.Text)
	}
	r.Head = b[:end:end]
	if head.length >= 0 {
		last := end + int(head.length)
		r.Body, r.all = b[end:last:last], b[:last]
		return r, b[last:]
	}
	h := HTTP{MaxHead: Limit{Value: len(b)}, MaxBody: Limit{Value: len(b)}}
	p := Progress{At: end, State: inChunks}
	n, err := h.chunked(b, &p, &Cut{})
	if n == 0 || err != nil {
		panic("BUG: a chunked request that was cut is not whole")
	}
	r.Chunked, r.Body, r.all = true, b[end:n:n], b[:n]
	return r, b[n:]
}

// Content returns the request's body without the framing of chunks, which it takes out in
// place: afterwards the request's bytes are not as they came.
func (r *HTTPRequest) Content() []byte {
	if !r.Chunked {
		return r.Body
	}
	n := 0
	for rest := r.Body; ; {
		line, size, _ := chunkSize(rest)
		if size == 0 {
			return r.Body[:n:n]
		}
		n += copy(r.Body[n:], rest[line:line+int(size)])
		rest = rest[line+int(size)+2:]
	}
}
