package main

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"darboux/frame"
	"darboux/handlers/web"
	"darboux/loop"
)

// Every body arrives whole, whatever its size and however it is written; short ones with
// their length.
func TestWebBodies(t *testing.T) {
	s := &webBodies{}
	webKinds(t, s.handle, func(t *testing.T, h *webHouse) {
		c := h.dial(t)
		for _, size := range []int{0, 1, 8191, 8193, 16384, 65535, 65536, 65537, 204803, 1048583} {
			want := pattern(size)
			for _, how := range []string{"once", "random", "bytewise", "empty", "hand"} {
				if underRace && how == "bytewise" && size > 100_000 {
					continue // a million calls each, which the run without the detector makes
				}
				for _, more := range []string{"x=1", declare(size)} {
					for _, method := range []string{"GET", "HEAD"} {
						called := s.called.Load()
						c.send(strings.Replace(request(webTarget(size, "how="+how, more)), "GET", method, 1))
						resp, body, err := c.reply(method)
						known := size <= 65536 || strings.Contains(more, "declared") || how == "hand"
						if method == "HEAD" {
							known = strings.Contains(more, "declared") || how == "hand"
							if len(body) > 0 || s.called.Load() != called {
								t.Fatalf("%d %s %s: HEAD got a body of %d bytes, or called its writer", size, how, more, len(body))
							}
						} else if err != nil || !bytes.Equal(body, want) {
							t.Fatalf("%d %s %s: got %d bytes, error %v", size, how, more, len(body), err)
						}
						if known && resp.ContentLength != int64(size) || !known && resp.ContentLength != -1 {
							t.Fatalf("%s %d %s %s: the length is said to be %d", method, size, how, more, resp.ContentLength)
						}
					}
				}
			}
		}
	})
	if called, closed := s.called.Load(), s.closed.Load(); closed != 2*called {
		t.Errorf("%d writers were called, %d sources closed; want twice as many, by HEAD", called, closed)
	}
}

// However a body fails, the client knows, and a good request follows: on the same
// connection if nothing had left.
func TestWebFailures(t *testing.T) {
	s := &webBodies{}
	for _, row := range []struct {
		name, target string
		status       int    // of a whole reply; 0: the reply is broken off
		closes       bool   // the connection is closed behind the reply
		body         string // a part of the body
	}{
		{"the handler panics", "/?fail=handler", 500, false, "internal error"},
		{"an error at once", webTarget(0, "fail=error"), 500, false, "on purpose"},
		{"an error after bytes were buffered", webTarget(1000, "fail=error&after=1000&how=bytewise"), 500, false, "on purpose"},
		{"an error at the end of the buffer", webTarget(65536, "fail=error&after=65536"), 500, false, "on purpose"},
		{"an error once bytes have left", webTarget(300_000, "fail=error&after=200000"), 0, true, "0123456789"},
		{"an error at the end", webTarget(300_000, "fail=error&after=300000"), 0, true, "0123456789"},
		{"an error under the declared length", webTarget(300_000, declare(300_000), "fail=error&after=200000"), 0, true, "0123456789"},
		{"a panic at once", webTarget(0, "fail=panic"), 500, false, "internal error"},
		{"a panic once bytes have left", webTarget(300_000, "fail=panic&after=200000"), 0, true, "0123456789"},
		{"fewer than declared, nothing left", webTarget(1000, declare(1000), "fail=stop&after=999"), 500, false, "shorter"},
		{"fewer than declared", webTarget(300_000, declare(300_000), "fail=stop&after=299999"), 0, true, "0123456789"},
		{"none of what was declared", webTarget(0, declare(10)), 500, false, "shorter"},
		{"more than declared", webTarget(1000, declare(10)), 200, true, "0123456789"},
		{"more than declared, byte by byte", webTarget(1000, declare(10), "how=bytewise"), 200, true, "0123456789"},
		{"much more than declared", webTarget(300_000, declare(200_000), "how=random"), 200, true, "0123456789"},
	} {
		t.Run(row.name, func(t *testing.T) {
			webKinds(t, s.handle, func(t *testing.T, h *webHouse) {
				c := h.dial(t)
				c.send(request(row.target))
				resp, body, err := c.reply("GET")
				if (row.status == 0) != (err != nil) || row.status != 0 && resp.StatusCode != row.status || !strings.Contains(string(body), row.body) {
					t.Fatalf("status %d, error %v, %d bytes %.100q", resp.StatusCode, err, len(body), body)
				}
				if row.status == 200 && len(body) != int(resp.ContentLength) {
					t.Errorf("%d bytes under the declared length of %d", len(body), resp.ContentLength)
				}
				if row.closes {
					c.ends()
					c = h.dial(t)
				}
				c.send(request(webTarget(5)))
				if got := c.whole("GET", 200); string(got) != "01234" {
					t.Errorf("the next reply is %q", got)
				}
			})
		})
	}
	if called, closed := s.called.Load(), s.closed.Load(); called != closed {
		t.Errorf("%d writers were called, %d sources closed", called, closed)
	}
}

// Pipelined answers come in order, whether at hand or streamed, twice on one socket.
func TestWebPipelinedAnswers(t *testing.T) {
	s := &webBodies{}
	sizes := []int{10, 300 << 10, 10 << 10, 300 << 10, 10}
	for _, how := range []string{"how=random", "how=hand", "how=once"} {
		webKinds(t, s.handle, func(t *testing.T, h *webHouse) {
			c := h.dial(t)
			for range 2 {
				for _, size := range sizes {
					c.send(request(webTarget(size, how)))
				}
				for i, size := range sizes {
					if body := c.whole("GET", 200); !bytes.Equal(body, pattern(size)) {
						t.Fatalf("answer %d has %d bytes; want %d", i, len(body), size)
					}
				}
			}
		})
	}
}

// A client that stalls lets the producer get five chunks ahead of the kernel, no more.
func TestWebStalledClient(t *testing.T) {
	s := &webBodies{}
	for _, more := range []string{"", declare(8 << 20)} {
		h := openWeb(t, 1, 2, s.handle, func(_ *web.HTTP, cfg *loop.Config) { cfg.SocketBuffer = 16 << 10 })
		c := h.dial(t)
		if err := c.Conn.(*net.TCPConn).SetReadBuffer(16 << 10); err != nil {
			t.Fatal(err)
		}
		name := "name=stalled" + more
		c.send(request(webTarget(8<<20, "how=random", more, name)))
		got := func() int64 {
			n, ok := s.ahead.Load(strings.TrimPrefix(name, "name="))
			if !ok {
				return 0
			}
			return n.(*atomic.Int64).Load()
		}
		// The kernel is full once nothing moves any more: seen as the producer having
		// filled all it may.
		ahead := func() int64 { return got() - h.stat("bytes written") }
		var last int64
		still := 0
		h.await(t, "the producer never stops", func() bool {
			now := got()
			if now != last || now == 0 {
				last, still = now, 0
			}
			still++
			return still > 200
		})
		if n := ahead(); n > 80<<10 || n < 60<<10 {
			t.Errorf("the producer is %d bytes ahead of the kernel; want at most %d, and nearly that", n, 80<<10)
		}
		if body := c.whole("GET", 200); !bytes.Equal(body, pattern(8<<20)) {
			t.Errorf("got %d bytes", len(body))
		}
	}
}

// A reset wakes the producer of an endless body, whose next write fails.
func TestWebResetStopsAnEndlessBody(t *testing.T) {
	s := &webBodies{}
	webKinds(t, s.handle, func(t *testing.T, h *webHouse) {
		before := s.closed.Load()
		var clients []*webConn
		for i := range 6 {
			c := h.dial(t)
			c.send(request(webTarget(1, "how=endless")))
			if i%2 == 0 { // half of them read first
				if _, err := io.ReadFull(c.r, make([]byte, 500_000)); err != nil {
					t.Fatal(err)
				}
			}
			clients = append(clients, c)
		}
		h.await(t, "not all writers run", func() bool { return h.stat("http producers") == 6 })
		for _, c := range clients {
			if err := c.Conn.(*net.TCPConn).SetLinger(0); err != nil {
				t.Fatal(err)
			}
			c.Close()
		}
		h.await(t, "a writer goes on for nobody", func() bool { return h.stat("http producers") == 0 && s.closed.Load() == before+6 })
		h.await(t, "an end is not counted", func() bool { return h.stat("http bodies without reader") == 6 })
	})
}

// Streams at once don't mix.
func TestWebStreamsDoNotMix(t *testing.T) {
	s := &webBodies{}
	webKinds(t, s.handle, func(t *testing.T, h *webHouse) {
		var clients sync.WaitGroup
		for i := range 24 {
			c := h.dial(t)
			clients.Go(func() {
				for round := range 2 {
					size := 100_000 + 7919*i + round
					fmt.Fprint(c, request(webTarget(size, "how=random")))
					if body := c.whole("GET", 200); !bytes.Equal(body, pattern(size)) {
						t.Errorf("stream %d: %d bytes, or others", i, len(body))
					}
				}
			})
		}
		clients.Wait()
	})
}

// At the cap a further writer is refused, its source closed; when one has ended there is
// room again at once.
func TestWebProducersCap(t *testing.T) {
	for _, perLoop := range []bool{false, true} {
		s := &webBodies{gate: make(chan struct{})}
		h := openWeb(t, 1, 2, s.handle, func(h *web.HTTP, _ *loop.Config) {
			if h.Producers.Value = 3; perLoop {
				h.Producers.Value, h.LoopProducers = 100, frame.Limit{Flag: "--ring-slots", Value: 3}
			}
		})
		flag := map[bool]string{false: "--http-producers", true: "--ring-slots"}[perLoop]
		var waiting []*webConn
		for range 3 {
			c := h.dial(t)
			c.send(request(webTarget(10, "how=wait")))
			waiting = append(waiting, c)
		}
		h.await(t, "not all writers run", func() bool { return s.called.Load() == 3 })
		c := h.dial(t)
		c.send(request(webTarget(10)))
		if body := c.whole("GET", 503); !strings.Contains(string(body), " of 3 at a time") || !strings.Contains(string(body), flag) {
			t.Errorf("the refusal is %q", body)
		}
		c.send(request(webTarget(10, "how=hand")))
		c.whole("GET", 200)
		if called, closed := s.called.Load(), s.closed.Load(); called != 3 || closed != 1 {
			t.Errorf("%d writers called, %d sources closed", called, closed)
		}
		close(s.gate)
		for _, w := range waiting {
			w.whole("GET", 200)
			w.send(request(webTarget(100_000)))
			w.whole("GET", 200)
		}
	}
}
