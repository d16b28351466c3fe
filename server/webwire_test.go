package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/valyala/fasthttp"

	"darboux/handlers/web"
	"darboux/loop"
)

// echo answers with the method, the target and the length of the body.
func echo(ctx *fasthttp.RequestCtx) {
	fmt.Fprintf(ctx, "%s %s %d", ctx.Method(), ctx.RequestURI(), len(ctx.PostBody()))
}

// What is sent to hide a request in another one is answered with 400 and the connection
// closed: the request behind it is never seen. The close lingers, so that a client that
// still sends reads the answer.
func TestWebSmuggling(t *testing.T) {
	const hidden = "GET /hidden HTTP/1.1\r\nHost: h\r\n\r\n"
	post := func(headers, body string) string {
		return "POST /front HTTP/1.1\r\nHost: h\r\n" + headers + "\r\n" + body
	}
	for _, row := range []struct{ name, raw string }{
		{"CL.TE", post("Content-Length: 6\r\nTransfer-Encoding: chunked\r\n", "0\r\n\r\nG")},
		{"TE.CL", post("Transfer-Encoding: chunked\r\nContent-Length: 4\r\n", "5c\r\n"+hidden+"\r\n0\r\n\r\n")},
		{"TE.TE", post("Transfer-Encoding: chunked\r\nTransfer-Encoding: cow\r\n", "0\r\n\r\n")},
		{"TE with a blank in front of the colon", post("Transfer-Encoding : chunked\r\n", "0\r\n\r\n")},
		{"TE with a vertical tab", post("Transfer-Encoding:\x0bchunked\r\n", "0\r\n\r\n")},
		{"TE on a folded line", post("Transfer-Encoding:\r\n chunked\r\n", "0\r\n\r\n")},
		{"TE behind a NUL", post("X: a\x00\r\nTransfer-Encoding: chunked\r\n", "0\r\n\r\n")},
		{"CL.CL", post("Content-Length: 0\r\nContent-Length: 44\r\n", hidden)},
		{"CL in a list", post("Content-Length: 0, 44\r\n", hidden)},
		{"CL with a sign", post("Content-Length: +0\r\n", hidden)},
		{"a bare LF ends a header", "GET /front HTTP/1.1\r\nHost: h\r\nX: a\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"},
		{"a bare CR within a header", post("X: a\rContent-Length: 44\r\n", hidden)},
		{"a bare LF behind a chunk's size", post("Transfer-Encoding: chunked\r\n", "0\n\r\n")},
		{"a bare LF in an extension", post("Transfer-Encoding: chunked\r\n", "1;a\nx\r\n0\r\n\r\n")},
		{"a chunk's size with 0x", post("Transfer-Encoding: chunked\r\n", "0x1\r\na\r\n0\r\n\r\n")},
		{"a chunk's size beyond 64 bits", post("Transfer-Encoding: chunked\r\n", "10000000000000001\r\na\r\n0\r\n\r\n")},
		{"a chunk longer than it says", post("Transfer-Encoding: chunked\r\n", "1\r\naa\r\n0\r\n\r\n")},
		{"a chunk shorter than it says", post("Transfer-Encoding: chunked\r\n", "5\r\na\r\n0\r\n\r\n"+hidden)},
		{"a length in the trailer", post("Transfer-Encoding: chunked\r\n", "0\r\nContent-Length: 44\r\n\r\n")},
		{"two Hosts", "GET /front HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n"},
	} {
		t.Run(row.name, func(t *testing.T) {
			webKinds(t, echo, func(t *testing.T, h *webHouse) {
				c := h.dial(t)
				c.send(request("/first") + row.raw + strings.Repeat(hidden, 2000)) // more than a socket with unread bytes would forgive
				if body := c.whole("GET", 200); string(body) != "GET /first 0" {
					t.Errorf("the request in front is answered %q", body)
				}
				resp, body, err := c.reply("POST")
				if err != nil || resp.StatusCode != 400 || !resp.Close {
					t.Errorf("status %d, close %v, error %v, %q", resp.StatusCode, resp.Close, err, body)
				}
				c.ends()
				if n := h.stat("http requests"); n != 1 {
					t.Errorf("%d requests were handled; want the first alone", n)
				}
			})
		})
	}
}

func TestWebLimits(t *testing.T) {
	h := openWeb(t, 1, 2, echo, func(h *web.HTTP, _ *loop.Config) { h.MaxHead.Value, h.MaxBody.Value = 1000, 100_000 })
	head := func(n int) string {
		front := "GET / HTTP/1.1\r\nHost: h\r\nX: "
		return front + strings.Repeat("x", n-len(front)-4) + "\r\n\r\n"
	}
	chunked := func(n int) string {
		var b strings.Builder
		b.WriteString("POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n")
		for left := n; left > 0; left -= 777 {
			size := min(left, 777)
			fmt.Fprintf(&b, "%x\r\n%s\r\n", size, strings.Repeat("b", size))
		}
		return b.String() + "0\r\n\r\n"
	}
	sized := func(n int) string {
		return fmt.Sprintf("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: %d\r\n\r\n%s", n, strings.Repeat("b", n))
	}
	for _, row := range []struct {
		name, raw string
		status    int
		want      string
	}{
		{"a head at its limit", head(1000), 200, "GET / 0"},
		{"a head over it", head(1001), 431, "1000 bytes (--http-max-head)"},
		{"a body at its limit", sized(100_000), 200, "POST / 100000"},
		{"a body over it", sized(100_001), 413, "body of 100001 bytes is over the limit of 100000 bytes (--http-max-body)"},
		{"chunks at the limit", chunked(100_000), 200, "POST / 100000"},
		{"chunks over it", chunked(100_001), 413, "--http-max-body"},
	} {
		c := h.dial(t)
		c.send(row.raw)
		resp, body, err := c.reply("POST")
		if err != nil || resp.StatusCode != row.status || !strings.Contains(string(body), row.want) {
			t.Errorf("%s: status %d, error %v, %.100q", row.name, resp.StatusCode, err, body)
		}
		if row.status != 200 {
			c.ends()
		}
	}
}

// The log tells of a request that is not taken in words that say what it is.
func TestTheLogOfRefusedRequests(t *testing.T) {
	reports := make(chan string, 10)
	h := openWeb(t, 1, 2, echo, func(h *web.HTTP, cfg *loop.Config) {
		h.MaxHead.Value, h.MaxBody.Value = 1000, 1000
		cfg.Report = func(kind, _, text string) { reports <- kind + ": " + text }
	})
	for _, row := range []struct{ raw, want string }{
		{"GET / HTTP/1.1\r\nHost : h\r\n\r\n", "a header's line must begin with its name"},
		{"GET /" + strings.Repeat("x", 1000), "the request's head is over the limit of 1000 bytes (--http-max-head)"},
		{"PUT / HTTP/1.1\r\nHost: h\r\nContent-Length: 1001\r\n\r\n", "body of 1001 bytes is over the limit of 1000 bytes (--http-max-body)"},
		{"\x16\x03\x01\r\n\r\n", "the request begins with byte 0x16; it looks like a TLS client"},
	} {
		c := h.dial(t)
		c.send(row.raw)
		if _, _, err := c.reply("GET"); err != nil {
			t.Fatal(err)
		}
		c.ends()
		select {
		case got := <-reports:
			if !strings.HasPrefix(got, "refused HTTP request: "+row.want) {
				t.Errorf("%.40q: reported %q; want %q", row.raw, got, row.want)
			}
		case <-time.After(patience):
			t.Fatalf("%.40q: nothing is reported", row.raw)
		}
	}
}

// A finished reply does not wait for the rest of the next request, whatever is missing
// of it.
func TestWebHalfOfTheNextRequest(t *testing.T) {
	const next = "POST /next HTTP/1.1\r\nHost: h\r\nContent-Length: 10\r\n\r\n0123456789"
	webKinds(t, echo, func(t *testing.T, h *webHouse) {
		for n := 1; n < len(next); n += 3 {
			c := h.dial(t)
			c.send(request("/first") + next[:n])
			c.whole("GET", 200)
			c.send(next[n:])
			if body := c.whole("POST", 200); string(body) != "POST /next 10" {
				t.Fatalf("the next request, cut at %d, is answered %q", n, body)
			}
			c.Close()
		}
	})
}

func TestWebExpect(t *testing.T) {
	const post = "POST /x HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nContent-Length: 5\r\n\r\n"
	webKinds(t, echo, func(t *testing.T, h *webHouse) {
		c := h.dial(t)
		for range 2 {
			c.send(request("/first") + post)
			c.whole("GET", 200)
			want := "HTTP/1.1 100 Continue\r\n\r\n"
			got := make([]byte, len(want))
			if _, err := io.ReadFull(c.r, got); err != nil || string(got) != want {
				t.Fatalf("got %q, %v; want 100 Continue", got, err)
			}
			c.send("hello")
			if body := c.whole("POST", 200); string(body) != "POST /x 5" {
				t.Errorf("answered %q", body)
			}
			c.send(post + "hello") // whoever doesn't wait gets no 100
			if body := c.whole("POST", 200); string(body) != "POST /x 5" {
				t.Errorf("answered %q", body)
			}
		}
		c.send(strings.Replace(post, "100-continue", "magic", 1))
		c.whole("POST", 417)
		c.ends()
	})
}

// Nothing behind Connection: close is answered, and the connection ends.
func TestWebConnectionClose(t *testing.T) {
	webKinds(t, echo, func(t *testing.T, h *webHouse) {
		for _, last := range []string{request("/last", "Connection: close"), "GET /last HTTP/1.0\r\n\r\n"} {
			c := h.dial(t)
			c.send(request("/first") + last + strings.Repeat(request("/never"), 1000))
			c.whole("GET", 200)
			if body := c.whole("GET", 200); string(body) != "GET /last 0" {
				t.Errorf("answered %q", body)
			}
			c.ends()
		}
		h.await(t, "more was handled than was asked before the close", func() bool { return h.stat("http requests") == 4 })
	})
}

// A client that ends its stream gets every answer, streamed ones included.
func TestWebHalfClose(t *testing.T) {
	s := &webBodies{}
	webKinds(t, s.handle, func(t *testing.T, h *webHouse) {
		c := h.dial(t)
		for range 5 {
			c.send(request(webTarget(200_000, "how=random")))
		}
		if err := c.Conn.(*net.TCPConn).CloseWrite(); err != nil {
			t.Fatal(err)
		}
		for range 5 {
			if body := c.whole("GET", 200); len(body) != 200_000 {
				t.Errorf("%d bytes", len(body))
			}
		}
		c.ends()
	})
}

// A connection that rests is closed after its time, one that is busy is not.
func TestWebIdleTimeout(t *testing.T) {
	h := openWeb(t, 1, 2, echo, func(h *web.HTTP, _ *loop.Config) { h.IdleTimeout = time.Second })
	silent, once := h.dial(t), h.dial(t)
	once.send(request("/"))
	once.whole("GET", 200)
	begin := time.Now()
	silent.ends()
	once.ends()
	if took := time.Since(begin); took < 500*time.Millisecond {
		t.Errorf("closed after %v", took)
	}
	silent.Close()
	once.Close()
	h.await(t, "they are not counted as idle", func() bool { return h.stat("connections closed: idle timeout") == 2 })
}

// Whoever floods with requests and never reads is paused at its budget; afterwards it
// gets every answer.
func TestWebFlood(t *testing.T) {
	s := &webBodies{}
	h := openWeb(t, 1, 2, s.handle, func(_ *web.HTTP, cfg *loop.Config) { cfg.SocketBuffer = 16 << 10 })
	c := h.dial(t)
	const requests = 6_000
	sent := make(chan error, 1)
	go func() {
		_, err := io.WriteString(c, strings.Repeat(request(webTarget(1000, "how=hand")), requests))
		sent <- err
	}()
	h.await(t, "the flood is never paused", func() bool { return h.stat("pauses by window")+h.stat("pauses by connection memory") > 0 })
	bystander := h.dial(t)
	for range 100 {
		bystander.send(request(webTarget(10)))
		bystander.whole("GET", 200)
		if held := h.stat("memory held bytes"); held > 1<<20 {
			t.Fatalf("%d bytes are held for two connections", held)
		}
	}
	for range requests {
		if body := c.whole("GET", 200); len(body) != 1000 {
			t.Fatalf("%d bytes", len(body))
		}
	}
	if err := <-sent; err != nil {
		t.Error(err)
	}
	if n := h.stat("reads while paused"); n != 0 {
		t.Errorf("%d reads while paused", n)
	}
}

// A large upload in chunks has its room from the reserve.
func TestWebLargeUploads(t *testing.T) {
	h := openWeb(t, 2, 2, echo, func(h *web.HTTP, _ *loop.Config) { h.MaxBody.Value = 8 << 20 })
	for _, size := range []int{70_000, 300_000, 8 << 20} {
		for _, known := range []bool{true, false} {
			body := io.Reader(bytes.NewReader(pattern(size)))
			if !known {
				body = struct{ io.Reader }{body}
			}
			resp, err := http.Post("http://"+h.addr+"/up", "text/plain", body)
			if err != nil {
				t.Fatal(err)
			}
			got, err := io.ReadAll(resp.Body)
			if want := fmt.Sprintf("POST /up %d", size); err != nil || string(got) != want {
				t.Errorf("%d bytes, length known %v: %q, %v", size, known, got, err)
			}
			resp.Body.Close()
		}
	}
	http.DefaultClient.CloseIdleConnections()
	h.await(t, "the reserve is not given back", func() bool { return h.group.Reserve().Taken == 0 })
}

// A drain lets a stream that is under way come to its end.
func TestWebDrainDuringStreams(t *testing.T) {
	s := &webBodies{gate: make(chan struct{})}
	h := openWeb(t, 1, 2, s.handle, nil)
	c := h.dial(t)
	c.send(request(webTarget(300_000, "how=wait")))
	h.await(t, "the writer does not run", func() bool { return s.called.Load() == 1 })
	drained := make(chan error, 1)
	go func() { drained <- h.group.Drain(t.Context()) }()
	h.await(t, "the drain does not begin", func() bool {
		_, err := net.DialTimeout("tcp", h.addr, time.Second)
		return err != nil
	})
	close(s.gate)
	if body := c.whole("GET", 200); !bytes.Equal(body, pattern(300_000)) {
		t.Errorf("%d bytes", len(body))
	}
	c.ends()
	c.Close()
	if err := <-drained; err != nil && !errors.Is(err, t.Context().Err()) {
		t.Error(err)
	}
}
