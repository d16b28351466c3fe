package web

import (
	"fmt"
	"io"

	"github.com/valyala/fasthttp"

	"darboux/handlers/riemann"
)

// events takes events: a Msg, or JSON, with one result a line.
func (a *API) events(ctx *fasthttp.RequestCtx) {
	if err := (parameters{}).take(ctx.URI().QueryString(), ctx.QueryArgs, nil); err != nil {
		failParameters(ctx, err)
		return
	}
	if coding := ctx.Request.Header.ContentEncoding(); len(coding) > 0 && string(coding) != "identity" {
		Fail(ctx, fasthttp.StatusUnsupportedMediaType, fmt.Sprintf("Content-Encoding %.60q: a body must come as it is", coding))
		return
	}
	ctx.SetContentType("application/x-ndjson")
	if isProtobuf(mediaType(ctx)) {
		a.takeMsg(ctx)
		return
	}
	ctx.Response.SetBodyStream(&lines{api: a, ctx: ctx, body: jsonBody{rest: ctx.Request.Body(), maxEvent: a.MaxEvent}}, -1)
}

func isProtobuf(mediaType string) bool {
	switch mediaType {
	case "application/x-protobuf", "application/protobuf", "application/vnd.google.protobuf", "application/octet-stream":
		return true
	}
	return false
}

const (
	// batchLines is how many events are given to the index at a time.
	batchLines = 64
	// keepBytes is the size up to which a buffer is kept from one slice to the next, and
	// how much is read of a body before a batch is given to the index.
	keepBytes = 64 << 10
)

// lines is the reply to events as JSON, a line for each. It takes them in slices, as the
// client reads the results. Its request's body stays valid until it is closed.
type lines struct {
	api   *API
	ctx   *fasthttp.RequestCtx
	body  jsonBody
	ended bool // body is
	taken int
	bad   int

	wire    []byte  // the batch's events, one behind the other
	ends    []int   // where in wire each ends
	errs    []error // why it is none; nil: it is one
	views   []riemann.Event
	refused []bool
}

// Read only makes it an io.Reader, which fasthttp wants.
func (l *lines) Read([]byte) (int, error) { return 0, io.ErrNoProgress }

// Slice implements Sliced.
func (l *lines) Slice(dst []byte, limit int) ([]byte, error) {
	until := l.api.Elapsed() + sliceTime
	for !l.ended && len(dst) < limit {
		l.readBatch()
		dst = l.apply(dst)
		if l.api.Elapsed() >= until {
			break
		}
	}
	if !l.ended {
		return dst, nil
	}
	if l.taken == 0 && l.bad > 0 {
		l.ctx.SetStatusCode(fasthttp.StatusBadRequest) // which counts if nothing has left yet
	}
	return dst, io.EOF
}

// readBatch decodes the next events.
func (l *lines) readBatch() {
	l.wire, l.ends, l.errs = l.wire[:0], l.ends[:0], l.errs[:0]
	before := len(l.body.rest)
	for len(l.ends) < batchLines && before-len(l.body.rest) < keepBytes {
		r, err := l.body.next()
		if err == io.EOF {
			l.ended = true
			return
		}
		if err == nil {
			err = l.encode(r)
		}
		l.ends, l.errs = append(l.ends, len(l.wire)), append(l.errs, err)
	}
}

// encode appends an event to the batch's.
func (l *lines) encode(r *riemann.Record) error {
	start := len(l.wire)
	l.wire = r.AppendEvent(l.wire)
	if n := len(l.wire) - start; n > l.api.MaxEvent.Value {
		l.wire = l.wire[:start]
		return l.api.eventTooLarge(n)
	}
	return nil
}

// apply gives the batch to the index and appends a result for each event.
func (l *lines) apply(dst []byte) []byte {
	l.views = l.views[:0]
	start := 0
	for i, end := range l.ends {
		if l.errs[i] == nil {
			l.views = append(l.views, riemann.Event{})
			if err := l.views[len(l.views)-1].Parse(l.wire[start:end]); err != nil {
				panic("BUG: an encoded event is refused: " + err.Error())
			}
		}
		start = end
	}
	l.refused = append(l.refused[:0], make([]bool, len(l.views))...)
	refused := l.api.apply(l.views, l.refused)
	l.api.countGiven(l.ctx, refused, len(l.views))
	l.reportSkipped()
	if cap(l.wire) > keepBytes {
		l.wire = nil
	}
	at := 0
	for _, err := range l.errs {
		if err == nil {
			if l.refused[at] {
				err = l.api.Store.WhyRefused()
			}
			at++
		}
		dst = l.result(dst, err)
	}
	return dst
}

func (l *lines) result(dst []byte, err error) []byte {
	if err == nil {
		l.taken++
		return append(dst, "{\"ok\":true}\n"...)
	}
	l.bad++
	return appendFailure(dst, err)
}

// reportSkipped tells of the batch's events that are too large.
func (l *lines) reportSkipped() {
	skipped := 0
	var last error
	for _, err := range l.errs {
		if _, ok := err.(*sizeError); ok {
			skipped++
			last = err
		}
	}
	l.api.countSkipped(l.ctx, skipped, last)
}

// sizeError is about an event that is larger than may be.
type sizeError struct{ text string }

func (e *sizeError) Error() string { return e.text }

func tooLarge(format string, values ...any) error {
	return &sizeError{fmt.Sprintf(format, values...)}
}

// eventTooLarge is about an event of n bytes, as Riemann's clients send it.
func (a *API) eventTooLarge(n int) error {
	return tooLarge("event of %d bytes is over the limit of %d bytes (%s)", n, a.MaxEvent.Value, a.MaxEvent.Flag)
}

// countGiven counts events that were given to the index, and tells of those that it refused.
func (a *API) countGiven(ctx *fasthttp.RequestCtx, refused, given int) {
	a.counts.given.Add(int64(given))
	a.counts.refused.Add(int64(refused))
	if refused > 0 {
		a.Report("events refused", ctx.RemoteAddr().String(), fmt.Sprintf("%d of %d events: %v", refused, given, a.Store.WhyRefused()))
	}
}

// countSkipped counts events that are too large, and tells of them; err is about one.
func (a *API) countSkipped(ctx *fasthttp.RequestCtx, skipped int, err error) {
	a.counts.skipped.Add(int64(skipped))
	if skipped > 0 {
		a.Report("events skipped", ctx.RemoteAddr().String(), fmt.Sprintf("%d: %v", skipped, err))
	}
}

// apply gives events to the index. A panic in it is damage.
func (a *API) apply(events []riemann.Event, refused []bool) int {
	defer guard(nil)
	return a.Store.Apply(events, a.Now(), refused)
}

// takeMsg takes the events of a Msg.
func (a *API) takeMsg(ctx *fasthttp.RequestCtx) {
	var m riemann.Msg
	err := m.Parse(ctx.Request.Body(), a.MaxEvent.Value)
	if err == nil && m.HasQuery {
		err = fmt.Errorf("a query stands in the Msg; it belongs to /index")
	}
	if err != nil {
		a.Report("undecodable Msg", ctx.RemoteAddr().String(), err.Error())
		ctx.SetStatusCode(fasthttp.StatusBadRequest)
		ctx.SetBody(appendFailure(nil, err))
		return
	}
	ctx.Response.SetBodyStream(&applied{api: a, ctx: ctx, msg: m}, -1)
}

// applied is the reply to a Msg, whose events are taken in slices.
type applied struct {
	api     *API
	ctx     *fasthttp.RequestCtx
	msg     riemann.Msg // what is left of it
	refused int
}

// Read only makes it an io.Reader, which fasthttp wants.
func (a *applied) Read([]byte) (int, error) { return 0, io.ErrNoProgress }

// Slice implements Sliced.
func (a *applied) Slice(dst []byte, _ int) ([]byte, error) {
	m := &a.msg
	until := a.api.Elapsed() + sliceTime
	for m.Next() {
		refused := a.api.apply(m.Events, make([]bool, len(m.Events)))
		a.api.countGiven(a.ctx, refused, len(m.Events))
		a.refused += refused
		if a.api.Elapsed() >= until {
			a.msg = m.Rest() // the memory for views is not kept
			return dst, nil
		}
	}
	err := a.api.eventTooLarge(m.Largest)
	a.api.countSkipped(a.ctx, m.Skipped, err)
	if m.Count > a.refused || m.Count+m.Skipped == 0 {
		return fmt.Appendf(dst, "{\"ok\":true,\"taken\":%d,\"refused\":%d,\"skipped\":%d}\n", m.Count-a.refused, a.refused, m.Skipped), io.EOF
	}
	a.ctx.SetStatusCode(fasthttp.StatusBadRequest) // nothing has left yet
	if a.refused > 0 {
		err = a.api.Store.WhyRefused()
	}
	return appendFailure(dst, err), io.EOF
}

// appendFailure appends the result for events that were not taken.
func appendFailure(dst []byte, err error) []byte {
	dst = appendJSONString(append(dst, `{"ok":false,"error":`...), []byte(err.Error()))
	return append(dst, "}\n"...)
}
