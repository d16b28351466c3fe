package web

import (
	"bufio"
	"bytes"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/valyala/fasthttp"

	"darboux/frame"
	"darboux/handlers/index"
	"darboux/handlers/query"
	"darboux/handlers/querylog"
)

func testHTTP(handler fasthttp.RequestHandler) *HTTP {
	return &HTTP{
		MaxHead: frame.Limit{Flag: "--http-max-head", Value: 16 << 10}, MaxBody: frame.Limit{Flag: "--http-max-body", Value: 1 << 20},
		Producers: frame.Limit{Flag: "--http-producers", Value: 16}, Handler: handler, Report: func(string, string, string) {},
	}
}

// patience is how long a test waits for what must come; it must last on a slow, busy machine.
const patience = 2 * time.Minute

// line stands for a loop and its kernel: it takes what a worker gives, at once.
type line struct {
	t        *testing.T
	protocol *frame.Protocol
	worker   frame.Worker
	peer     string
	own      int // bytes of a burst's own reply buffer
	resumed  chan *frame.Burst
	closed   bool // the worker asked for it
}

func newLine(t *testing.T, h *HTTP) *line {
	p := h.Protocol()
	return &line{t: t, protocol: p, worker: p.NewWorker(), peer: "127.0.0.1:1234", own: frame.OwnReply, resumed: make(chan *frame.Burst, 1)}
}

func (l *line) GiveBack(*frame.Burst) {}

func (l *line) Awaited() bool { return false }

func (l *line) TakeUp(b *frame.Burst) { l.resumed <- b }

// exchange sends raw requests and returns all that comes back.
func (l *line) exchange(raw string) []byte {
	l.t.Helper()
	in := []byte(raw)
	var out []byte
	for len(in) > 0 && !l.closed {
		cut, err := l.protocol.Cut(in, l.protocol.MaxFrame, 64<<10, true, &frame.Progress{})
		in = in[cut.Skip:]
		if cut.Frames == 0 {
			if err != nil {
				return l.protocol.Refuse(out, err)
			}
			l.t.Fatalf("%d bytes are no whole request", len(in))
		}
		out = append(out, l.work(in[:cut.Bytes])...)
		in = in[cut.Bytes:]
	}
	return out
}

// work works a burst to its end.
func (l *line) work(in []byte) (out []byte) {
	l.t.Helper()
	return l.workOn(&frame.Burst{In: in, Peer: l.peer, Home: l, Extra: frame.NewReserve(4 << 20)})
}

// workOn works a burst, fresh or begun, to its end.
func (l *line) workOn(b *frame.Burst) (out []byte) {
	l.t.Helper()
	b.Taker = l
	for first := true; ; first = false {
		if first || b.Out == nil {
			b.Start(l.own) // unless it is begun
			b.Window = max(1, min(64<<10, l.own/2))
		}
		switch b.Status = l.worker.Work(b); b.Status {
		case frame.Waiting:
			select {
			case <-l.resumed:
			case <-time.After(patience):
				l.t.Fatal("a burst waits for ever")
			}
		case frame.Yielded:
		default:
			out = append(out, b.Out...)
			r := b.TakeReply()
			r.Release()
			if b.Status == frame.Done {
				l.closed = b.Close
				b.Clear()
				return out
			}
		}
	}
}

// get asks for one reply, which must be whole.
func (l *line) get(raw string) (*http.Response, string) {
	l.t.Helper()
	out := l.exchange(raw)
	r := bufio.NewReader(bytes.NewReader(out))
	method, _, _ := strings.Cut(raw, " ")
	resp, err := http.ReadResponse(r, &http.Request{Method: method})
	if err != nil {
		l.t.Fatalf("%v: %.300q", err, out)
	}
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		l.t.Fatalf("%v: %.300q", err, out)
	}
	if rest, _ := io.ReadAll(r); len(rest) > 0 {
		l.t.Fatalf("behind the reply comes %.100q", rest)
	}
	return resp, string(body)
}

const testTime = 1_700_000_000_123_000 // 2023-11-14T22:13:20.123Z

// testAPI is the endpoints over an empty index, with the time standing still.
func testAPI() *API {
	return &API{
		Store:   index.NewMap(index.Config{Shards: 4, DefaultTTL: 60, Entries: index.Limit{Flag: "--index-entries", Value: 100_000}}),
		Queries: query.NewCache(100, 1<<20), QueryLog: &querylog.Log{}, MaxEvent: frame.Limit{Flag: "--max-event", Value: 1000},
		MaxReply: frame.Limit{Flag: "--max-frame", Value: 1 << 20},
		Now:      func() int64 { return testTime }, Elapsed: func() time.Duration { return 0 },
		Report: func(string, string, string) {},
		Ready:  func() error { return nil }, Pipelines: func() string { return "a way\n" },
		Numbers: NewNumbers(func() []Number { return nil }),
	}
}

// asked is a GET of a path and query, with further header lines.
func asked(target string, headers ...string) string { return with("GET", target, "", headers...) }

func with(method, target, body string, headers ...string) string {
	host := "Host: localhost\r\n"
	for _, h := range headers {
		if strings.HasPrefix(h, "Host:") {
			host = ""
		}
	}
	length := ""
	if body != "" {
		length = "Content-Length: " + fmtInt(len(body)) + "\r\n"
	}
	return method + " " + target + " HTTP/1.1\r\n" + host + length + strings.Join(append(headers, ""), "\r\n") + "\r\n" + body
}

func fmtInt(n int) string { return string(appendJSONFloat(nil, float64(n), 64)) }
