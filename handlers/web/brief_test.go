package web

import (
	"io"
	"log/slog"
	"slices"
	"strings"
	"testing"

	"github.com/valyala/fasthttp"

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
