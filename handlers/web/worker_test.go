package web

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/valyala/fasthttp"
	"go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	oteltrace "go.opentelemetry.io/otel/trace"

	"darboux/frame"
)

// replies parses what came back for requests of these methods.
func replies(t *testing.T, out []byte, methods ...string) (bodies []string, all []*http.Response) {
	t.Helper()
	r := bufio.NewReader(bytes.NewReader(out))
	for _, m := range methods {
		resp, err := http.ReadResponse(r, &http.Request{Method: m})
		if err != nil {
			t.Fatalf("%v: %.300q", err, out)
		}
		body, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		bodies, all = append(bodies, string(body)), append(all, resp)
	}
	if rest, _ := io.ReadAll(r); len(rest) > 0 {
		t.Fatalf("behind the replies comes %.200q", rest)
	}
	return bodies, all
}

// tell answers with what the handler saw of the request, and then spoils it.
func tell(ctx *fasthttp.RequestCtx) {
	var b strings.Builder
	b.WriteString(string(ctx.Method()) + " " + string(ctx.RequestURI()) + " " + string(ctx.Host()) + " " + string(ctx.Request.Header.Peek("X")) + " " + string(ctx.PostBody()))
	ctx.SetBodyString(b.String())
	ctx.Request.Header.Set("X", "spoilt")
	ctx.Request.Header.SetMethod("SPOILT")
	ctx.Request.SetRequestURI("/spoilt")
	ctx.Request.SetBodyString("spoilt")
	ctx.Request.Header.SetHost("spoilt")
	ctx.SetUserValue("spoilt", true)
	ctx.Response.Header.Set("Y", string(ctx.Request.Header.Peek("Z")))
}

// A request with the same bytes as the last is seen as the first was, whatever its
// handler did to that.
func TestKnownRequestsAreSeenAfresh(t *testing.T) {
	a := with("POST", "/a?x=1", "body-a", "X: one")
	b := with("POST", "/a?x=1", "body-b", "X: one")
	c := with("POST", "/c", "", "X: two", "Transfer-Encoding: chunked") + "3\r\nabc\r\n0\r\n\r\n"
	long := asked("/long", "X: "+strings.Repeat("y", mostKnown))
	want := map[string]string{
		a: "POST /a?x=1 localhost one body-a", b: "POST /a?x=1 localhost one body-b", c: "POST /c localhost two abc",
		long: "GET /long localhost " + strings.Repeat("y", mostKnown) + " ",
	}
	l := newLine(t, testHTTP(tell))
	for _, order := range [][]string{{a, a, a, b, b, a}, {c, c, c, a, c}, {long, long, a, a}, {a}, {a}, {b}} {
		out := l.exchange(strings.Join(order, ""))
		got, _ := replies(t, out, strings.Fields(strings.Repeat("POST ", len(order)))...)
		for i, raw := range order {
			if got[i] != want[raw] {
				t.Fatalf("reply %d is %.100q; want %.100q", i, got[i], want[raw])
			}
		}
	}
}

func TestConnectionClose(t *testing.T) {
	for _, row := range []struct {
		name, raw string
		closes    bool
		header    string
	}{
		{"1.1", asked("/"), false, ""},
		{"1.1, close", asked("/", "Connection: close"), true, "close"},
		{"1.1, close among others", asked("/", "Connection: x, Close"), true, "close"},
		{"1.0", "GET / HTTP/1.0\r\n\r\n", true, "close"},
		{"1.0, keep-alive", "GET / HTTP/1.0\r\nConnection: Keep-Alive\r\n\r\n", false, "keep-alive"},
	} {
		l := newLine(t, testHTTP(okHandler))
		out := l.exchange(row.raw + asked("/next"))
		methods := []string{"GET", "GET"}
		if row.closes {
			methods = methods[:1] // nothing behind it is answered
		}
		_, all := replies(t, out, methods...)
		if got := all[0].Header.Get("Connection"); !strings.EqualFold(got, row.header) && all[0].Close != (row.header == "close") || l.closed != row.closes {
			t.Errorf("%s: Connection %q, closed %v", row.name, got, l.closed)
		}
	}
	l := newLine(t, testHTTP(func(ctx *fasthttp.RequestCtx) { ctx.SetConnectionClose() }))
	if out := l.exchange(asked("/") + asked("/")); !l.closed {
		t.Errorf("the handler's wish to close was not heard: %q", out)
	}
}

// What fasthttp minds in a head that the cutter takes is answered, in words of our own,
// and closes.
func TestUnparsedHeads(t *testing.T) {
	for _, row := range []struct{ raw, says string }{
		{asked("http://[/"), "host"},
		{asked("/", "Host: [::1"), "host"},
		{asked("/", "Host: a:b:c"), "host"},
		{asked("/", "Host: h:port"), "host"},
		{asked("/", "Host: %zz"), "host"},
		{asked("/", "Trailer: Content-Length"), "Trailer"},
	} {
		l := newLine(t, testHTTP(okHandler))
		bodies, all := replies(t, l.exchange(row.raw+asked("/")), "GET")
		if all[0].StatusCode != 400 || !l.closed || !strings.Contains(bodies[0], row.says) || speaksOfInsides(bodies[0]) {
			t.Errorf("%q: status %d, closed %v, %q", row.raw, all[0].StatusCode, l.closed, bodies[0])
		}
	}
}

// speaksOfInsides reports whether a text is one of fasthttp's.
func speaksOfInsides(text string) bool {
	return strings.Contains(text, "fasthttp") || strings.Contains(text, "buffer size") || strings.Contains(text, "error when")
}

func TestRefusalsAreReplies(t *testing.T) {
	l := newLine(t, testHTTP(okHandler))
	out := l.exchange(asked("/") + "GET / HTTP/1.1\r\nHost : h\r\n\r\n")
	bodies, all := replies(t, out, "GET", "GET")
	if all[1].StatusCode != 400 || !all[1].Close || !strings.Contains(bodies[1], "blank") {
		t.Errorf("status %d, close %v, %q", all[1].StatusCode, all[1].Close, bodies[1])
	}
}

func TestStatusesWithoutBody(t *testing.T) {
	for _, status := range []int{204, 304} {
		l := newLine(t, testHTTP(func(ctx *fasthttp.RequestCtx) {
			ctx.SetBodyString("not to be sent")
			ctx.SetStatusCode(status)
		}))
		bodies, all := replies(t, l.exchange(asked("/")+asked("/")), "GET", "GET")
		if all[1].StatusCode != status || bodies[0] != "" || all[0].Header.Get("Content-Length") != "" {
			t.Errorf("%d: body %q, length %q", status, bodies[0], all[0].Header.Get("Content-Length"))
		}
	}
}

func TestLongBodyOfUnknownLengthNeedsHTTP11(t *testing.T) {
	for _, how := range []string{"produced", "sliced"} {
		l := newLine(t, testHTTP(func(ctx *fasthttp.RequestCtx) {
			size := ctx.QueryArgs().GetUintOrZero("size")
			if how == "sliced" {
				ctx.Response.SetBodyStream(&fixedSlices{left: size}, -1)
				return
			}
			Write(ctx, -1, func(w io.Writer) error {
				_, err := w.Write(make([]byte, size))
				return err
			})
		}))
		bodies, all := replies(t, l.exchange("GET /?size=60000 HTTP/1.0\r\nConnection: keep-alive\r\n\r\n"), "GET")
		if all[0].StatusCode != 200 || len(bodies[0]) != 60000 || all[0].ContentLength != 60000 {
			t.Errorf("%s: status %d, %d bytes", how, all[0].StatusCode, len(bodies[0]))
		}
		_, all = replies(t, l.exchange("GET /?size=200000 HTTP/1.0\r\nConnection: keep-alive\r\n\r\n"), "GET")
		if all[0].StatusCode != 505 {
			t.Errorf("%s: status %d; want 505", how, all[0].StatusCode)
		}
	}
}

// fixedSlices is a body of so many bytes, in slices of at most 5,000, with an error at
// the end if err is set.
type fixedSlices struct {
	left   int
	err    error
	closed int
}

func (s *fixedSlices) Read([]byte) (int, error) { return 0, io.ErrNoProgress }
func (s *fixedSlices) Close() error             { s.closed++; return nil }

func (s *fixedSlices) Slice(dst []byte, limit int) ([]byte, error) {
	n := min(s.left, 5000, max(1, limit-len(dst)))
	s.left -= n
	dst = append(dst, strings.Repeat("s", n)...)
	if s.left > 0 {
		return dst, nil
	}
	if s.err != nil {
		return dst, s.err
	}
	return dst, io.EOF
}

// Bodies in slices at all the sizes where something changes, however little memory the
// burst has; their source is closed once.
func TestSlicedBodies(t *testing.T) {
	for _, own := range []int{frame.OwnReply, 4 << 10} {
		for _, size := range []int{0, 1, 4999, 5000, 5001, 16384, 65535, 65536, 65537, 204803, 1048583} {
			var source *fixedSlices
			l := newLine(t, testHTTP(func(ctx *fasthttp.RequestCtx) {
				source = &fixedSlices{left: size}
				ctx.Response.SetBodyStream(source, -1)
			}))
			l.own = own
			bodies, all := replies(t, l.exchange(asked("/")+asked("/")), "GET", "GET")
			if len(bodies[0]) != size || len(bodies[1]) != size || all[0].StatusCode != 200 || source.closed != 1 {
				t.Errorf("%d bytes of own room, size %d: %d and %d bytes, closed %d times", own, size, len(bodies[0]), len(bodies[1]), source.closed)
			}
			if own == frame.OwnReply && (all[0].ContentLength >= 0) != (size <= 65536) {
				t.Errorf("size %d: length %d", size, all[0].ContentLength)
			}
		}
	}
}

func TestSlicedBodiesThatFail(t *testing.T) {
	for _, size := range []int{0, 1000, 200_000} {
		for _, err := range []error{errors.New("on purpose"), &StatusError{418, "teapot"}} {
			source := &fixedSlices{left: size, err: err}
			l := newLine(t, testHTTP(func(ctx *fasthttp.RequestCtx) { ctx.Response.SetBodyStream(source, -1) }))
			out := l.exchange(asked("/"))
			if source.closed != 1 {
				t.Errorf("%d: the source was closed %d times", size, source.closed)
			}
			if size < 100_000 {
				bodies, all := replies(t, out, "GET")
				want := 500
				if _, ok := err.(*StatusError); ok {
					want = 418
				}
				if all[0].StatusCode != want || !strings.Contains(bodies[0], err.Error()) || l.closed {
					t.Errorf("%d: status %d, %q", size, all[0].StatusCode, bodies[0])
				}
				continue
			}
			resp, rerr := http.ReadResponse(bufio.NewReader(bytes.NewReader(out)), nil)
			if rerr != nil {
				t.Fatal(rerr)
			}
			if _, rerr = io.ReadAll(resp.Body); rerr == nil || !l.closed {
				t.Errorf("a broken body of %d bytes passes for whole, closed %v", size, l.closed)
			}
		}
	}
}

// Produced and whole bodies where a burst has little memory.
func TestBodiesWithLittleMemory(t *testing.T) {
	for _, how := range []string{"hand", "declared", "unknown"} {
		for _, size := range []int{0, 100, 3000, 10_000, 65536, 300_000} {
			l := newLine(t, testHTTP(func(ctx *fasthttp.RequestCtx) {
				text := strings.Repeat("p", size)
				switch how {
				case "hand":
					ctx.SetBodyString(text)
				case "declared":
					Write(ctx, size, func(w io.Writer) error { _, err := io.WriteString(w, text); return err })
				default:
					Write(ctx, -1, func(w io.Writer) error { _, err := io.WriteString(w, text); return err })
				}
			}))
			l.own = 4 << 10
			bodies, _ := replies(t, l.exchange(strings.Repeat(asked("/"), 3)), "GET", "GET", "GET")
			for i, b := range bodies {
				if len(b) != size {
					t.Errorf("%s, reply %d: %d bytes; want %d", how, i, len(b), size)
				}
			}
		}
	}
}

// A middleware of fasthttp's own fits: it compresses what our handler says.
func TestFasthttpMiddlewareFits(t *testing.T) {
	l := newLine(t, testHTTP(fasthttp.CompressHandler(testAPI().Handler())))
	put(t, l, `{"host":"h","description":"`+strings.Repeat("d", 500)+`"}`)
	resp, body := l.get(asked("/readyz", "Accept-Encoding: gzip"))
	if resp.StatusCode != 200 || body == "" {
		t.Errorf("status %d, %q", resp.StatusCode, body)
	}
	l = newLine(t, testHTTP(fasthttp.TimeoutHandler(func(ctx *fasthttp.RequestCtx) {
		time.Sleep(200 * time.Millisecond) // longer than what the middleware waits
	}, time.Millisecond, "too late")))
	bodies, all := replies(t, l.exchange(asked("/")+asked("/")), "GET", "GET")
	if all[1].StatusCode != 408 || bodies[0] != "too late" {
		t.Errorf("status %d, %q", all[1].StatusCode, bodies[0])
	}
}

func TestAccessLog(t *testing.T) {
	var out bytes.Buffer
	h := testHTTP(testAPI().Handler())
	h.Observe = AccessLog(slog.New(slog.NewJSONHandler(&out, nil)))
	l := newLine(t, h)
	l.exchange(asked("/healthz") + asked("/nothing") + asked("/index?format=json"))
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	for i, want := range []string{`"target":"/healthz","status":200,"bytes":3`, `"target":"/nothing","status":404`, `"target":"/index?format=json","status":200,"bytes":3`} {
		if len(lines) != 3 || !strings.Contains(lines[i], want) || !strings.Contains(lines[i], `"peer":"127.0.0.1:1234","method":"GET"`) {
			t.Fatalf("line %d of %q should hold %s", i, lines, want)
		}
	}
}

func TestTraces(t *testing.T) {
	spans := tracetest.NewSpanRecorder()
	h := testHTTP(func(ctx *fasthttp.RequestCtx) {
		if !oteltrace.SpanContextFromContext(Context(ctx)).IsValid() {
			t.Error("a handler gets no span to be within")
		}
		if string(ctx.Path()) == "/fails" {
			Write(ctx, -1, func(io.Writer) error { return errors.New("on purpose") })
		}
	})
	h.Observe = Traces(trace.NewTracerProvider(trace.WithSpanProcessor(spans)))
	l := newLine(t, h)
	const parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	_, all := replies(t, l.exchange(asked("/traced", "traceparent: "+parent)+asked("/fails")), "GET", "GET")
	if got := all[0].Header.Get("Traceparent"); !strings.HasPrefix(got, "00-0af7651916cd43dd8448eb211c80319c-") || strings.Contains(got, "b7ad6b7169203331") {
		t.Errorf("the reply's context is %q", got)
	}
	ended := spans.Ended()
	if len(ended) != 2 {
		t.Fatalf("%d spans have ended", len(ended))
	}
	if s := ended[0]; s.Name() != "GET /traced" || s.Parent().SpanID().String() != "b7ad6b7169203331" {
		t.Errorf("span %q, parent %v", s.Name(), s.Parent().SpanID())
	}
	if s := ended[1]; s.Status().Description == "" {
		t.Errorf("the span of a failure has the status %+v", s.Status())
	}
}

// Observation that is off costs no allocation, and neither does anything else of a
// request that is answered at hand.
func TestRequestsAllocateNothing(t *testing.T) {
	if underRace {
		t.Skip("LEFT OUT: the race detector allocates")
	}
	h := testHTTP(testAPI().Handler())
	w := h.Protocol().NewWorker()
	in := []byte(strings.Repeat(asked("/healthz"), 16))
	b := &frame.Burst{Peer: "127.0.0.1:1234"}
	b.Start(frame.OwnReply)
	b.Window = 64 << 10
	work := func() {
		b.In, b.Next, b.Out = in, 0, b.Out[:0]
		if w.Work(b) != frame.Done {
			t.Fatal("not done")
		}
	}
	work()
	if n := testing.AllocsPerRun(100, work); n > 0 {
		t.Errorf("%v allocations for 16 requests", n)
	}
}

func TestHijackingIsRefused(t *testing.T) {
	l := newLine(t, testHTTP(func(ctx *fasthttp.RequestCtx) { ctx.Hijack(func(net.Conn) {}) }))
	if _, all := replies(t, l.exchange(asked("/")+asked("/")), "GET", "GET"); all[0].StatusCode != 501 {
		t.Errorf("status %d", all[0].StatusCode)
	}
}
