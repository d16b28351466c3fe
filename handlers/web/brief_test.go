package web

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"log/slog"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/valyala/fasthttp"
	"pgregory.net/rapid"

	"darboux/frame"
)

// workBrief works a burst as a loop does that has handlers, and returns how many bytes of
// it were left for them, and all that came of it.
func (l *line) workBrief(raw string) (left int, out []byte) {
	l.t.Helper()
	b := &frame.Burst{In: []byte(raw), Peer: l.peer, Home: l, Extra: frame.NewReserve(4 << 20), Brief: true}
	b.Start(l.own)
	b.Window = 64 << 10
	switch status := l.worker.Work(b); status {
	case frame.Blocked: // what is answered leaves
		out = append(out, b.Out...)
		r := b.TakeReply()
		r.Release()
		fallthrough
	case frame.Yielded:
		left = len(b.Left())
	case frame.Waiting:
		l.t.Fatal("a brief burst waits")
	}
	b.Brief = false
	return left, append(out, l.workOn(b)...)
}

func TestBriefRequests(t *testing.T) {
	healthz, index := asked("/healthz"), asked("/index")
	chunked := with("POST", "/events", "", "Transfer-Encoding: chunked") + "c\r\n{\"host\":\"h\"}\r\n0\r\n\r\n"
	for _, row := range []struct {
		name  string
		brief []string // answered by the loop
		rest  []string
	}{
		{"all", []string{healthz, healthz, asked("/readyz"), asked("/readyz?x=1"), asked("/a/../healthz")}, nil},
		{"a query among them", []string{healthz}, []string{index, healthz}},
		{"a query first", nil, []string{index, healthz}},
		{"a body", []string{healthz}, []string{with("POST", "/healthz", "x"), healthz}},
		{"events", []string{healthz}, []string{chunked, chunked, healthz}},
		{"numbers", nil, []string{asked("/metrics"), healthz}},
		{"nothing at the path", nil, []string{asked("/nothing"), healthz}},
		{"a head that is refused", []string{healthz}, []string{"GET http://[/ HTTP/1.1\r\nHost: localhost\r\n\r\n"}},
	} {
		all := slices.Concat(row.brief, row.rest)
		h := testHTTP(testAPI().Handler())
		want := newLine(t, h).exchange(strings.Join(all, ""))
		h.Brief = testAPI().Brief
		l := newLine(t, h)
		if !l.protocol.Brief {
			t.Fatal("the protocol knows no brief bursts")
		}
		left, out := l.workBrief(strings.Join(all, ""))
		if want := len(strings.Join(row.rest, "")); left != want {
			t.Errorf("%s: %d bytes were left for the handlers; want %d", row.name, left, want)
		}
		if methods := methodsOf(all); !slices.Equal(statuses(t, out, methods), statuses(t, want, methods)) {
			t.Errorf("%s: brief, the replies are\n%s\nelse\n%s", row.name, out, want)
		}
	}
}

func methodsOf(requests []string) []string {
	var all []string
	for _, r := range requests {
		method, _, _ := strings.Cut(r, " ")
		all = append(all, method)
	}
	return all
}

func statuses(t *testing.T, out []byte, methods []string) []int {
	t.Helper()
	_, all := replies(t, out, methods...)
	var codes []int
	for _, r := range all {
		codes = append(codes, r.StatusCode)
	}
	return codes
}

// A handler that was called brief and streams is gone on with by the handlers.
func TestBriefHandlersMayStream(t *testing.T) {
	text := strings.Repeat("s", 100_000)
	for _, how := range []string{"hand", "produced", "sliced"} {
		h := testHTTP(func(ctx *fasthttp.RequestCtx) {
			switch how {
			case "hand":
				ctx.SetBodyString(text)
			case "produced":
				Write(ctx, -1, func(w io.Writer) error { _, err := io.WriteString(w, text); return err })
			case "sliced":
				ctx.Response.SetBodyStream(&fixedSlices{left: len(text)}, -1)
			}
		})
		h.Brief = func([]byte) bool { return true }
		_, out := newLine(t, h).workBrief(asked("/") + asked("/"))
		bodies, _ := replies(t, out, "GET", "GET")
		for i, b := range bodies {
			if len(b) != len(text) {
				t.Errorf("%s: reply %d has %d bytes; want %d", how, i, len(b), len(text))
			}
		}
	}
}

// Who observes may have to wait for a disk or a network, which no loop may.
func TestObservedRequestsAreNotBrief(t *testing.T) {
	h := testHTTP(testAPI().Handler())
	h.Brief, h.Observe = testAPI().Brief, AccessLog(slog.New(slog.DiscardHandler))
	if h.Protocol().Brief {
		t.Error("the loops would call who observes")
	}
}

// What is called brief leaves the request as it is, because the same may be shown to it again.
func TestBriefEndpointsChangeNoRequest(t *testing.T) {
	api := testAPI()
	api.Access = Access{WriteToken: "w", CORS: "*"}
	handler := api.Handler()
	for _, path := range []string{"/healthz", "/readyz"} {
		if !api.Brief([]byte(path)) {
			t.Errorf("%s is not brief", path)
		}
		for _, method := range []string{"GET", "HEAD", "OPTIONS", "PUT"} {
			for _, header := range []string{"X: y", "Host: elsewhere", "Host: [::1]:80", "Authorization: Bearer w", "Cookie: a=b", "Connection: close"} {
				var ctx fasthttp.RequestCtx
				raw := with(method, path+"?a=b&c#d", "", header)
				if err := ctx.Request.Read(bufio.NewReader(strings.NewReader(raw))); err != nil {
					t.Fatal(err)
				}
				shown := func() string {
					return ctx.Request.Header.String() + string(ctx.URI().FullURI()) + string(ctx.Request.Body())
				}
				before := shown()
				handler(&ctx)
				if after := shown(); after != before {
					t.Fatalf("%q became %q", before, after)
				}
			}
		}
	}
}

// echo answers with all that it sees of a request, and leaves that as it is.
func echo(ctx *fasthttp.RequestCtx) {
	fmt.Fprintf(ctx, "%s|%s|%s|%s|%s|%v|%s", ctx.Request.Header.String(), ctx.URI(), ctx.QueryArgs(), ctx.PostArgs(), ctx.PostBody(), ctx.UserValue("seen"), ctx.Request.Header.Cookie("a"))
	ctx.SetUserValue("seen", true)
}

// A brief request is seen as any other is, whatever came before it.
func TestBriefRequestsAreSeenAlike(t *testing.T) {
	pool := []string{
		asked("/brief"), asked("/brief?x=1&y=2"), asked("/brief", "X: y", "Cookie: a=b"), asked("/brief", "Host: other"),
		asked("/brief", "X: "+strings.Repeat("y", mostKnown)), with("POST", "/brief", "x=1", "Content-Type: application/x-www-form-urlencoded"),
		asked("/long"), with("POST", "/long", "body"), with("POST", "/long", "", "Transfer-Encoding: chunked") + "3\r\nabc\r\n0\r\n\r\n",
		"GET http://[/ HTTP/1.1\r\nHost: localhost\r\n\r\n",
	}
	rapid.Check(t, func(rt *rapid.T) {
		order := rapid.SliceOfN(rapid.SampledFrom(pool), 1, 30).Draw(rt, "requests")
		plain, brief := testHTTP(echo), testHTTP(echo)
		brief.Brief = func(path []byte) bool { return string(path) == "/brief" }
		want, got := newLine(t, plain), newLine(t, brief)
		for _, raw := range order {
			want.closed, got.closed = false, false
			repeated := strings.Repeat(raw, rapid.IntRange(1, 3).Draw(rt, "times"))
			if w, g := want.exchange(repeated), got.exchange(repeated); !bytes.Equal(undated(g), undated(w)) {
				rt.Fatalf("to %.300q comes\n%.2000q\nwhere nothing is brief\n%.2000q", raw, g, w)
			}
		}
	})
}

// undated is replies without their dates.
func undated(out []byte) []byte {
	return regexp.MustCompile("Date: [^\r]*").ReplaceAll(out, nil)
}
