package web

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/valyala/fasthttp"
	"google.golang.org/protobuf/encoding/protowire"

	"darboux/handlers/index"
	"darboux/handlers/query"
	"darboux/handlers/querylog"
	"darboux/handlers/riemann"
)

const (
	// sliceTime is how long a reply is worked on before others have their turn.
	sliceTime = time.Millisecond
	// foundBytes is how many bytes of events are found at a time.
	foundBytes = 4 << 10
)

// form is how events are written.
type form struct {
	name, mime string
	open, sep  string // in front of the first event, and between two
	close      string // behind the last one; none has the last of a JSON lines' LF
}

var forms = map[string]*form{
	"jsonl":    {"jsonl", "application/x-ndjson", "", "\n", "\n"},
	"json":     {"json", "application/json", "[", ",\n", "]\n"},
	"protobuf": {"protobuf", "application/x-protobuf", "\x10\x01", "", ""}, // a Msg with ok = true
}

// index answers with the events that match a query.
func (a *API) index(ctx *fasthttp.RequestCtx) {
	want, err := a.readWish(ctx)
	if err != nil {
		failParameters(ctx, err)
		return
	}
	s := &search{Query: want.query, api: a, want: want}
	reply := &answer{search: s}
	if a.QueryLog.Trace != nil {
		reply.peer = ctx.RemoteAddr().String()
	}
	switch {
	case want.explain:
		reply.body = &explaining{search: s}
	case want.sort != "":
		reply.body = &sorting{search: s}
	default:
		reply.body = &listing{search: s}
	}
	ctx.SetContentType(want.form.mime)
	ctx.Response.SetBodyStream(reply, -1)
}

// answer is the reply to a query, which it keeps account of.
type answer struct {
	*search
	body  body
	peer  string // who asked, if somebody is told
	bytes int64  // of the reply so far
}

// body is what is made of a search.
type body interface {
	// next is Slice of Sliced.
	next(dst []byte, limit int) ([]byte, error)
}

// Slice implements Sliced.
func (a *answer) Slice(dst []byte, limit int) ([]byte, error) {
	start := len(dst)
	a.tally[querylog.Slices]++
	dst, err := a.body.next(dst, limit)
	a.bytes += int64(len(dst) - start)
	if err == io.EOF {
		a.account()
	}
	a.api.QueryLog.Add(&a.tally)
	return dst, err
}

// account notes how the query was worked, when it is at its end.
func (a *answer) account() {
	cur := &a.cursor
	a.tally[querylog.Looked] += int64(cur.Looked)
	a.tally[querylog.Matched] += int64(cur.Matched)
	if a.api.QueryLog.Trace == nil {
		return
	}
	a.api.QueryLog.Trace(&querylog.Trace{
		Peer: a.peer, Query: a.want.query.String(), Way: cur.Way, Looked: cur.Looked, Matched: cur.Matched,
		Bytes: a.bytes, Streamed: a.bytes > firstBuffer,
	})
}

// Read only makes it an io.Reader, which fasthttp wants.
func (a *answer) Read([]byte) (int, error) { return 0, io.ErrNoProgress }

// Close implements io.Closer: what the body holds is let go of.
func (a *answer) Close() error {
	if c, ok := a.body.(io.Closer); ok {
		return c.Close()
	}
	return nil
}

// search is a query that is being run for a reply.
type search struct {
	*query.Query // tells the index how to find its matches; Match is our own

	api      *API
	want     wish
	cursor   index.Cursor
	matching bool // true exactly while the query looks at an event
	event    riemann.Event
	tally    querylog.Tally
}

// Match implements index.Matcher: a panic in it is the query's, any other one in the
// index is the index's own.
func (s *search) Match(e *riemann.Event) bool {
	s.matching = true
	ok := s.Query.Match(e)
	s.matching = false
	return ok
}

// slice finds events for one slice, or until enough says so, and hands each to take, as
// wire bytes that it must not keep. It reports whether the search is at its end.
func (s *search) slice(enough func() bool, take func(event []byte) error) (done bool, err error) {
	s.cursor.Slice = s.Step()
	found := scratch.Get().(*[]byte)
	defer func() {
		s.event = riemann.Event{} // a view of them
		if cap(*found) <= keepBytes {
			scratch.Put(found)
		}
	}()
	until := s.api.Elapsed() + sliceTime
	for !s.cursor.Done && !enough() && s.api.Elapsed() < until {
		if err := s.find(found); err != nil {
			return true, err
		}
		if err := eachEvent(*found, take); err != nil {
			return true, err
		}
	}
	return s.cursor.Done, nil
}

// scratch are buffers for what a slice finds: between slices a reply keeps none.
var scratch = sync.Pool{New: func() any { return new([]byte) }}

// find finds some events, as fields of a Msg. An error is that the query can't afford a match.
func (s *search) find(found *[]byte) (err error) {
	defer guard(&s.matching)
	defer s.stopped(&err)
	*found = s.api.Store.Search(s, &s.cursor, (*found)[:0], foundBytes)
	return nil
}

// stopped, deferred, turns what a match that would cost too much panics with into an
// error, and leaves other panics alone.
func (s *search) stopped(err *error) {
	if !s.matching {
		return
	}
	v := recover()
	cost, ok := v.(*query.CostError)
	if !ok {
		panic(v)
	}
	s.tally[querylog.TooCostly]++
	*err = &StatusError{fasthttp.StatusBadRequest, cost.Error()}
}

// eachEvent hands over the events of fields of a Msg.
func eachEvent(fields []byte, take func([]byte) error) error {
	for len(fields) > 0 {
		event, n := protowire.ConsumeBytes(fields[1:])
		if n < 0 {
			panic(damage{"BUG: the index found what is no event"})
		}
		if err := take(event); err != nil {
			return err
		}
		fields = fields[1+n:]
	}
	return nil
}

// view makes s.event the view of wire bytes of the index.
func (s *search) view(event []byte) *riemann.Event {
	if err := s.event.Parse(event); err != nil {
		panic(damage{"BUG: a stored event is damaged: " + err.Error()})
	}
	return &s.event
}

// writer writes events in a form.
type writer struct {
	form  *form
	json  jsonEvent
	begun bool
}

func (w *writer) append(dst, event []byte, view func([]byte) *riemann.Event) []byte {
	if !w.begun {
		w.begun = true
		dst = append(dst, w.form.open...)
	} else {
		dst = append(dst, w.form.sep...)
	}
	if w.form.name == "protobuf" {
		return riemann.AppendEventField(dst, event)
	}
	return w.json.appendTo(dst, view(event))
}

func (w *writer) end(dst []byte) []byte {
	if !w.begun {
		if w.form.name == "jsonl" {
			return dst
		}
		dst = append(dst, w.form.open...)
	}
	return append(dst, w.form.close...)
}

// listing is a reply of events in the order in which they are found.
type listing struct {
	*search
	out  writer
	sent int
}

// next implements body.
func (l *listing) next(dst []byte, limit int) ([]byte, error) {
	l.out.form, l.out.json.fields = l.want.form, l.want.fields
	full := func() bool { return len(dst) >= limit || l.all() }
	done, err := l.slice(full, func(event []byte) error {
		if !l.all() {
			l.sent++
			dst = l.out.append(dst, event, l.view)
		}
		return nil
	})
	if err != nil {
		return dst, err
	}
	if done || l.all() {
		return l.out.end(dst), io.EOF
	}
	return dst, nil
}

// all reports whether as many were sent as are wanted.
func (l *listing) all() bool { return l.want.limit > 0 && l.sent == l.want.limit }

// explaining is a reply about how a query is run, which it therefore is.
type explaining struct{ *search }

// next implements body.
func (x *explaining) next(dst []byte, _ int) ([]byte, error) {
	done, err := x.slice(func() bool { return false }, func([]byte) error { return nil })
	if err != nil || !done {
		return dst, err
	}
	dst = append(dst, `{"query":`...)
	dst = appendJSONString(dst, []byte(x.want.query.String()))
	dst = append(dst, `,"lookups":[`...)
	for i, l := range x.want.query.Lookups() {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = appendJSONString(dst, []byte(lookupText(l)))
	}
	return fmt.Appendf(dst, "],\"looked_at\":%d,\"matched\":%d}\n", x.cursor.Looked, x.cursor.Matched), io.EOF
}

// lookupText names the events that a lookup finds.
func lookupText(l query.Lookup) string {
	switch l.By {
	case query.ByNothing:
		return "nothing"
	case query.ByKey:
		return "host " + quoted(l.Host) + " and service " + quoted(l.Service)
	case query.ByAny:
		var terms []string
		for _, ways := range l.Any {
			terms = append(terms, lookupText(ways[0]))
		}
		return "any of: " + strings.Join(terms, "; ")
	}
	return l.By.String() + " " + quoted(l.Value)
}

func quoted(value []byte) string {
	if value == nil {
		return "missing"
	}
	return fmt.Sprintf("%q", value)
}
