package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/valyala/fasthttp"

	"darboux/frame"
	"darboux/handlers"
	"darboux/handlers/web"
	"darboux/loop"
)

// webHouse is loops and handlers that speak HTTP with a handler of the test's.
type webHouse struct {
	*web.HTTP
	addr  string
	group *loop.Group

	results   atomic.Int64 // exchanges whose result was told
	lastError atomic.Pointer[error]
}

// openWeb serves handler on so many loops and handlers until the test's end, when
// nothing may be left over.
func openWeb(t *testing.T, loops, poolSize int, handler fasthttp.RequestHandler, change func(*web.HTTP, *loop.Config)) *webHouse {
	t.Helper()
	h := &webHouse{}
	h.HTTP = &web.HTTP{
		MaxHead:   frame.Limit{Flag: "--http-max-head", Value: 16 << 10},
		MaxBody:   frame.Limit{Flag: "--http-max-body", Value: 1 << 20},
		Producers: frame.Limit{Flag: "--http-producers", Value: 64},
		Handler:   handler,
		Report:    func(string, string, string) {},
		Observe: func(*fasthttp.RequestCtx) web.End {
			return func(r web.Result) {
				h.results.Add(1)
				h.lastError.Store(&r.Err)
			}
		},
	}
	cfg := loop.Config{
		Loops:      loops,
		ConnMemory: frame.Limit{Flag: "--conn-memory", Value: 256 << 10},
		Memory:     frame.Limit{Flag: "--memory", Value: 64 << 20},
		MaxConns:   frame.Limit{Flag: "--max-conns", Value: 1000},
		Report:     func(string, string, string) {},
	}
	if change != nil {
		change(h.HTTP, &cfg)
	}
	cfg.Protocols = []*frame.Protocol{h.Protocol()}
	if poolSize > 0 {
		cfg.Ring = frame.NewRing[*frame.Burst](256)
	}
	h.serve(t, cfg, poolSize)
	return h
}

func (h *webHouse) serve(t *testing.T, cfg loop.Config, poolSize int) {
	t.Helper()
	group, err := loop.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	h.group = group
	var pool *handlers.Pool
	if poolSize > 0 {
		pool = handlers.NewPool(poolSize, cfg.Ring, cfg.Protocols)
	}
	addr, err := group.Listen("127.0.0.1:0", 0)
	if err != nil {
		t.Fatal(err)
	}
	h.addr = addr.String()
	group.Start()
	t.Cleanup(func() {
		group.Stop()
		h.Wait()
		if pool != nil {
			pool.Close()
		}
		if err := group.Close(); err != nil {
			t.Error(err)
		}
		if l := group.Ledger(); !l.Balanced() {
			t.Errorf("the ledger is not balanced: %+v", l)
		}
		h.await(t, "an exchange is without result", func() bool { return h.Observe == nil || h.results.Load() == h.stat("http requests") })
	})
}

func (h *webHouse) stat(name string) int64 {
	for _, s := range append(h.Stats(), h.group.Stats()...) {
		if s.Name == name {
			return s.Value
		}
	}
	panic("no counter is called " + name)
}

// await waits until ok.
func (h *webHouse) await(t *testing.T, why string, ok func() bool) {
	t.Helper()
	for limit := newDeadline(t); !ok(); time.Sleep(time.Millisecond) { // a poll, bounded
		limit.check(why)
	}
}

// webKinds runs a test with handlers, with several loops, on the loop, and where all is
// tried on the loop first.
func webKinds(t *testing.T, handler fasthttp.RequestHandler, test func(t *testing.T, h *webHouse)) {
	for _, kind := range []struct {
		name            string
		loops, handlers int
		change          func(*web.HTTP, *loop.Config)
	}{
		{"1 loop, 2 handlers", 1, 2, nil},
		{"2 loops, 2 handlers", 2, 2, nil},
		{"on the loop", 1, 0, nil},
		{"brief", 1, 2, func(h *web.HTTP, _ *loop.Config) {
			h.Brief, h.Observe = func([]byte) bool { return true }, nil
		}},
	} {
		t.Run(kind.name, func(t *testing.T) { test(t, openWeb(t, kind.loops, kind.handlers, handler, kind.change)) })
	}
}

// webConn is a connection on which requests are raw bytes and replies are read as
// net/http reads them.
type webConn struct {
	t *testing.T
	net.Conn
	r *bufio.Reader
}

func (h *webHouse) dial(t *testing.T) *webConn { return dialWeb(t, h.addr) }

func dialWeb(t *testing.T, addr string) *webConn {
	t.Helper()
	c, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	if err := c.SetDeadline(time.Now().Add(patience)); err != nil {
		t.Fatal(err)
	}
	return &webConn{t, c, bufio.NewReader(c)}
}

func (c *webConn) send(raw string) {
	c.t.Helper()
	if _, err := io.WriteString(c, raw); err != nil {
		c.t.Fatal(err)
	}
}

// reply reads the reply to a request of this method. An error is one of its body.
func (c *webConn) reply(method string) (*http.Response, []byte, error) {
	c.t.Helper()
	resp, err := http.ReadResponse(c.r, &http.Request{Method: method})
	if err != nil {
		c.t.Fatalf("reading a reply's head: %v", err)
	}
	body, err := io.ReadAll(resp.Body)
	return resp, body, err
}

// whole is reply for one that must be whole.
func (c *webConn) whole(method string, status int) []byte {
	c.t.Helper()
	resp, body, err := c.reply(method)
	if err != nil || resp.StatusCode != status {
		c.t.Fatalf("status %d, error %v, body %.200q; want a whole reply with status %d", resp.StatusCode, err, body, status)
	}
	return body
}

// ends reads on; the next thing must be the end of the stream.
func (c *webConn) ends() {
	c.t.Helper()
	if b, err := c.r.Peek(1); !errors.Is(err, io.EOF) {
		c.t.Fatalf("got %q, %v; want the end of the stream", b, err)
	}
}

// request is a GET of this target, with header lines.
func request(target string, headers ...string) string {
	return "GET " + target + " HTTP/1.1\r\nHost: h\r\n" + strings.Join(append(headers, ""), "\r\n") + "\r\n"
}

// pattern is so many bytes that differ by place.
func pattern(n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = "0123456789abcdefghijklmnopqrstuvwxyz"[(i+i/1000)%36]
	}
	return b
}

// webBodies answers with a body as the query says: size, declared, how it is written, and
// how it fails.
type webBodies struct {
	ahead  sync.Map // by name: *atomic.Int64, bytes that the writer got rid of
	closed atomic.Int64
	called atomic.Int64
	gate   chan struct{} // closed to let the writers of how=wait go on
}

func (s *webBodies) handle(ctx *fasthttp.RequestCtx) {
	q := ctx.QueryArgs()
	size := q.GetUintOrZero("size")
	declared := -1
	if q.Has("declared") {
		declared = q.GetUintOrZero("declared")
	}
	how, fail, after := string(q.Peek("how")), string(q.Peek("fail")), q.GetUintOrZero("after")
	if how == "hand" {
		ctx.SetBody(pattern(size))
		return
	}
	if fail == "handler" {
		panic("a handler that panics")
	}
	counter, _ := s.ahead.LoadOrStore(string(q.Peek("name")), new(atomic.Int64))
	body := &testBody{s: s, data: pattern(size), how: how, fail: fail, after: after, got: counter.(*atomic.Int64)}
	ctx.Response.SetBodyStream(body, declared)
}

// testBody is a body's source that writes, fails and counts as it was told.
type testBody struct {
	s         *webBodies
	data      []byte
	how, fail string
	after     int
	got       *atomic.Int64
	closed    atomic.Bool
}

func (b *testBody) Read([]byte) (int, error) { panic("a writer is read") }

func (b *testBody) Close() error {
	if b.closed.Swap(true) {
		panic("a body's source is closed twice")
	}
	b.s.closed.Add(1)
	return nil
}

var errOnPurpose = errors.New("a failure on purpose")

func (b *testBody) WriteTo(w io.Writer) (int64, error) {
	b.s.called.Add(1)
	n := 0
	rnd := rand.New(rand.NewPCG(1, uint64(len(b.data))))
	for {
		if b.fail != "" && n >= b.after {
			switch b.fail {
			case "panic":
				panic("a writer that panics")
			case "stop": // fewer than declared
				return int64(n), nil
			}
			return int64(n), errOnPurpose
		}
		if n == len(b.data) && b.how != "endless" {
			return int64(n), nil
		}
		piece, err := b.write(w, rnd, n)
		if err != nil {
			return int64(n), err
		}
		n += piece
	}
}

func (b *testBody) write(w io.Writer, rnd *rand.Rand, n int) (int, error) {
	most := len(b.data) - n
	if b.fail != "" {
		most = min(most, b.after-n)
	}
	piece := b.data[n : n+most]
	switch b.how {
	case "random":
		piece = piece[:1+rnd.IntN(min(most, 20_000))]
	case "bytewise":
		piece = piece[:1]
	case "empty":
		if _, err := w.Write(nil); err != nil {
			return 0, err
		}
		piece = piece[:min(most, 1000)]
	case "endless":
		piece = []byte("endless ")
	case "wait":
		<-b.s.gate
	}
	done, err := w.Write(piece)
	b.got.Add(int64(done))
	if b.how == "endless" {
		return 0, err
	}
	return done, err
}

func webTarget(size int, more ...string) string {
	return "/?size=" + strconv.Itoa(size) + strings.Join(append([]string{""}, more...), "&")
}

func declare(n int) string { return fmt.Sprint("declared=", n) }
