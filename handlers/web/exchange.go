package web

import (
	"errors"
	"net"
	"net/netip"

	"github.com/valyala/fasthttp"

	"darboux/frame"
)

// exchange is one request and its reply.
type exchange struct {
	http    *HTTP
	ctx     fasthttp.RequestCtx
	address net.TCPAddr // the peer's, as the handler sees it
	peer    string
	head    bool  // the method is HEAD
	http10  bool  // the request is of HTTP/1.0
	close   bool  // the connection is closed behind the reply
	sent    int64 // bytes of the body that were given to the loop
	end     End   // of Observe
	over    bool  // its result is recorded
	size    int   // bytes of the request's head
	holds   int   // the number of the known request that ctx has in it; 0 is none
	taken   int   // bytes of reserve, for what is kept
	reserve *frame.Reserve
}

var (
	errPanic   = errors.New("internal error")
	errGone    = errors.New("the client is gone")
	errTooFew  = errors.New("the body is shorter than was declared")
	errTooMuch = errors.New("the body is longer than was declared")
)

func newExchange(h *HTTP) *exchange {
	x := &exchange{http: h}
	x.address.IP = make([]byte, 16)
	return x
}

// meet notes whose requests come.
func (x *exchange) meet(b *frame.Burst) {
	x.ctx.Init2(nil, nil, false)
	if x.peer != b.Peer {
		x.peer = b.Peer
		peer, _ := netip.ParseAddrPort(b.Peer) // of what is none the address is ::
		ip := peer.Addr().As16()
		copy(x.address.IP, ip[:])
		x.address.Port = int(peer.Port())
	}
	x.ctx.SetRemoteAddr(&x.address)
}

// begin prepares the exchange for the next request.
func (x *exchange) begin() {
	x.head, x.http10, x.close, x.sent, x.end, x.over = false, false, false, 0, nil, false
	x.size = 0
}

// take takes in a request, which is the known one, and notes what it means for the reply.
func (x *exchange) take(k *known, r *frame.HTTPRequest) {
	if x.holds != k.number {
		x.dropRequest()
		k.copyTo(&x.ctx.Request)
		x.holds = k.number
	}
	x.size = len(r.Head)
	if len(r.Body) > 0 {
		x.ctx.Request.SetBodyRaw(r.Content()) // a view of the burst's bytes
	}
	h := &x.ctx.Request.Header
	x.head, x.http10 = h.IsHead(), !h.IsHTTP11()
	x.close = h.ConnectionClose()
}

// reset makes the exchange fit for the next request. A brief one stays in it, in case that
// the next is the same, because its handler has left it as it was.
func (x *exchange) reset(brief bool) {
	if brief {
		x.ctx.ResetUserValues()
	} else {
		x.dropRequest()
	}
	x.ctx.Response.Reset()
}

// dropRequest takes out the request that ctx has in it.
func (x *exchange) dropRequest() {
	if x.holds != 0 {
		x.ctx.Request.Reset()
		x.holds = 0
	}
}

// fail makes the reply a plain text about an error.
func (x *exchange) fail(status int, err error) {
	x.ctx.Response.Reset() // which closes the body's source, if there is one
	Fail(&x.ctx, status, err.Error())
	if status == fasthttp.StatusServiceUnavailable {
		x.ctx.Response.Header.Set(fasthttp.HeaderRetryAfter, "1") // what is short is given back soon
	}
}

// Fail answers with an error as plain text.
func Fail(ctx *fasthttp.RequestCtx, status int, text string) {
	ctx.Response.SetStatusCode(status)
	ctx.SetContentType(plainText)
	ctx.Response.SetBodyString(text + "\n")
}

// respond appends the reply to b, or begins to. It returns false if the exchange is kept,
// in b or elsewhere.
func (x *exchange) respond(w *worker, b *frame.Burst) (reusable bool) {
	if late := x.ctx.LastTimeoutErrorResponse(); late != nil {
		return x.respondLate(w, b, late)
	}
	resp := &x.ctx.Response
	x.close = x.close || resp.ConnectionClose()
	stream := resp.BodyStream()
	switch {
	case x.ctx.Hijacked():
		x.fail(fasthttp.StatusNotImplemented, errors.New("connections can't be taken over here"))
		return x.atHand(w, b)
	case x.head || !hasBody(resp.StatusCode()):
		return x.withoutBody(w, b)
	case stream == nil:
		return x.atHand(w, b)
	}
	if s, ok := stream.(Sliced); ok {
		if !x.takeRoom(b, sizeOf(s)) {
			return x.noRoom(w, b)
		}
		b.Kept = &sliced{x: x, source: s, start: len(b.Out), chunk: -1}
		return false
	}
	if err := w.enter(b.Home); err != nil {
		w.tally[noProducer]++
		x.fail(fasthttp.StatusServiceUnavailable, err)
		return x.atHand(w, b)
	}
	b.Kept = newProduced(x, b)
	return false
}

// smallKept is how many bytes of a request's head, as parsed, and of a body's source may be
// kept without room of the reserve while the reply is under way.
const smallKept = 4 << 10

// A Sized body stream tells how many bytes it keeps while it is under way.
type Sized interface{ Size() int }

func sizeOf(s Sliced) int {
	if sized, ok := s.(Sized); ok {
		return sized.Size()
	}
	return 0
}

// takeRoom takes room of the reserve for what is kept while the reply is under way, unless
// that is small: n bytes, and the head, which takes about twice its length.
func (x *exchange) takeRoom(b *frame.Burst, n int) bool {
	over := 2*x.size + n - smallKept
	if over <= 0 {
		return true
	}
	if b.Extra == nil || !b.Extra.TryTake(over) {
		return false
	}
	x.taken, x.reserve = over, b.Extra
	return true
}

// noRoom answers that memory is short now.
func (x *exchange) noRoom(w *worker, b *frame.Burst) bool {
	x.fail(fasthttp.StatusServiceUnavailable, errNoRoom)
	x.size = 0 // nothing is kept of it: this reply needs no room but the burst's
	return x.atHand(w, b)
}

// respondLate sends the reply of fasthttp's TimeoutHandler. Its handler still runs and
// uses the exchange, which is therefore left to it.
func (x *exchange) respondLate(w *worker, b *frame.Burst, late *fasthttp.Response) bool {
	other := newExchange(x.http)
	other.meet(b)
	other.head, other.http10, other.close, other.end = x.head, x.http10, x.close, x.end
	late.CopyTo(&other.ctx.Response)
	other.respond(w, b)
	return false
}

func hasBody(status int) bool {
	return status >= 200 && status != fasthttp.StatusNoContent && status != fasthttp.StatusNotModified
}

// withoutBody appends the head alone, with the length that was declared or is known.
func (x *exchange) withoutBody(w *worker, b *frame.Burst) bool {
	resp := &x.ctx.Response
	if !resp.IsBodyStream() && hasBody(resp.StatusCode()) {
		resp.Header.SetContentLength(max(len(resp.Body()), resp.Header.ContentLength()))
	}
	x.appendHead(b)
	err := resp.CloseBodyStream() // nothing was read of it
	x.finish(&w.tally, b, err)
	return true
}

const (
	// headRoom is the bytes that a reply's head usually stays within.
	headRoom = 1 << 10
	// leastPiece is the bytes of a body that go into an empty reply buffer however small
	// the window is, where memory is short: so that all replies come to their end.
	leastPiece = 1 << 10
)

// fits reports whether a reply with a body of n bytes has room in the burst's own buffer.
func fits(b *frame.Burst, n int) bool { return len(b.Out)+headRoom+n <= b.Own }

// atHand appends a reply whose body is whole, or what there is room for of it.
func (x *exchange) atHand(w *worker, b *frame.Burst) bool {
	body := x.ctx.Response.Body()
	x.ctx.Response.Header.SetContentLength(len(body))
	if len(body) > frame.MaxSmallReply || !fits(b, len(body)) {
		if !x.takeRoom(b, len(body)) {
			return x.noRoom(w, b)
		}
		x.appendHead(b)
		b.Kept = &whole{x: x, rest: body}
		return false
	}
	x.appendHead(b)
	b.Out = append(b.Out, body...)
	x.sent = int64(len(body))
	x.finish(&w.tally, b, nil)
	return true
}

// appendHead appends the reply's head.
func (x *exchange) appendHead(b *frame.Burst) { b.Out = x.appendHeadTo(b.Out) }

func (x *exchange) appendHeadTo(dst []byte) []byte {
	h := &x.ctx.Response.Header
	switch {
	case x.close:
		h.SetConnectionClose()
	case x.http10:
		h.Set(fasthttp.HeaderConnection, "keep-alive")
	}
	n := len(dst)
	head := h.AppendBytes(dst[n:]) // which begins at the start of the slice it is given
	if cap(dst)-n >= len(head) {
		return dst[:n+len(head)] // they stand there already
	}
	return append(dst, head...)
}

// finish records the result, once. err is why the body is not what it should be.
func (x *exchange) finish(t *tally, b *frame.Burst, err error) {
	if x.over {
		panic("BUG: the result of an exchange is recorded twice")
	}
	x.over = true
	if x.taken > 0 {
		x.reserve.Release(x.taken)
		x.taken = 0
	}
	if b != nil {
		b.Kept = nil
		b.Close = b.Close || x.close
	}
	status := x.ctx.Response.StatusCode()
	t[class(status)]++
	switch {
	case err == errGone:
		t[gone]++
	case err != nil && !x.refused(err):
		t[failed]++
		x.http.Report("reply failed", x.peer, err.Error())
	}
	if x.end != nil {
		x.end(Result{Status: status, Bytes: x.sent, Err: err})
	}
}

// refused reports whether err is the client's own mistake, and the reply says so.
func (x *exchange) refused(err error) bool {
	var why *StatusError
	return errors.As(err, &why) && why.Status < 500 && x.ctx.Response.StatusCode() == why.Status
}

// finishAlone is finish for those who have no worker's tally at hand.
func (x *exchange) finishAlone(err error) {
	var t tally
	x.finish(&t, nil, err)
	x.http.counters.add(&t)
}

// whole is the rest of a body that is at hand, on its way through the window.
type whole struct {
	x    *exchange
	rest []byte
}

func (s *whole) goOn(w *worker, b *frame.Burst) frame.Status {
	n := b.Window - len(b.Out)
	if len(b.Out) == 0 {
		n = max(n, leastPiece)
	}
	n = min(len(s.rest), max(0, n))
	b.Out = append(b.Out, s.rest[:n]...)
	s.rest = s.rest[n:]
	s.x.sent += int64(n)
	if len(s.rest) > 0 {
		return frame.Blocked
	}
	s.x.finish(&w.tally, b, nil)
	return frame.Done
}

// Release notes that nobody waits for the rest.
func (s *whole) Release() { s.x.finishAlone(errGone) }

// Room is what is kept of the request and the body.
func (s *whole) Room() int { return s.x.taken }
