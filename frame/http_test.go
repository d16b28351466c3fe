package frame

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

var testHTTP = &HTTP{MaxHead: Limit{Flag: "--http-max-head", Value: 200}, MaxBody: Limit{Flag: "--http-max-body", Value: 1000}}

const get = "GET / HTTP/1.1\r\nHost: h\r\n\r\n"

// post is a request with these header lines and this body.
func post(headers, body string) string {
	return "POST /events HTTP/1.1\r\nHost: h\r\n" + headers + "\r\n" + body
}

func TestHTTPCut(t *testing.T) {
	sized := post("Content-Length: 5\r\n", "hello")
	chunked := post("Transfer-Encoding: chunked\r\n", "5\r\nhello\r\n0\r\n\r\n")
	for _, tc := range []struct {
		name, in string
		room     int
		want     Cut
	}{
		{"nothing", "", 100, Cut{}},
		{"half a head", get[:10], 100, Cut{}},
		{"a head without its last byte", get[:len(get)-1], 100, Cut{}},
		{"a request", get, 100, Cut{Bytes: len(get), Frames: 1}},
		{"an empty line in front", "\r\n" + get, 100, Cut{Skip: 2, Bytes: len(get), Frames: 1}},
		{"an empty line alone", "\r\n", 100, Cut{Skip: 2}},
		{"an empty line between", get + "\r\n" + get, 100, Cut{Bytes: len(get), Frames: 1}},
		{"the first is taken whatever the room", get + get, 3, Cut{Bytes: len(get), Frames: 1}},
		{"no further one over the room", get + get, 2*len(get) - 1, Cut{Bytes: len(get), Frames: 1}},
		{"as many as the room", get + sized + chunked, 1000, Cut{Bytes: len(get + sized + chunked), Frames: 3}},
		{"a body in part", sized[:len(sized)-1], 100, Cut{Need: len(sized)}},
		{"a request and a body in part", get + sized[:len(sized)-3], 100, Cut{Bytes: len(get), Frames: 1, Need: len(sized)}},
		{"chunks in part", chunked[:len(chunked)-2], 100, Cut{}},
		{"a request and half of one that expects", get + post("Expect: 100-continue\r\nContent-Length: 5\r\n", ""), 100,
			Cut{Bytes: len(get), Frames: 1, Need: len(post("Expect: 100-continue\r\nContent-Length: 5\r\n", "")) + 5, Interim: continueReply}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, err := testHTTP.Cut([]byte(tc.in), Limit{}, tc.room, false, &Progress{})
			if err != nil || got.Skip != tc.want.Skip || got.Bytes != tc.want.Bytes || got.Frames != tc.want.Frames || got.Need != tc.want.Need || !bytes.Equal(got.Interim, tc.want.Interim) {
				t.Errorf("got %+v, %v; want %+v", got, err, tc.want)
			}
		})
	}
}

// Every way to say a length in two ways, or none, is refused, with the raw bytes here.
func TestHTTPRefusals(t *testing.T) {
	te := "Transfer-Encoding: chunked\r\n"
	for _, tc := range []struct {
		name, in string
		status   int
	}{
		{"Content-Length and Transfer-Encoding", post("Content-Length: 5\r\n"+te, "0\r\n\r\n"), 400},
		{"Transfer-Encoding and Content-Length", post(te+"Content-Length: 5\r\n", "0\r\n\r\n"), 400},
		{"two different lengths", post("Content-Length: 5\r\nContent-Length: 6\r\n", "hello"), 400},
		{"the same length twice", post("Content-Length: 5\r\nContent-Length: 5\r\n", "hello"), 400},
		{"two lengths in one header", post("Content-Length: 5, 5\r\n", "hello"), 400},
		{"a length with a sign", post("Content-Length: +5\r\n", "hello"), 400},
		{"a negative length", post("Content-Length: -5\r\n", "hello"), 400},
		{"a hexadecimal length", post("Content-Length: 0x5\r\n", "hello"), 400},
		{"an empty length", post("Content-Length:\r\n", ""), 400},
		{"a length in other digits", post("Content-Length: \xd9\xa5\r\n", "hello"), 400},
		{"a length over all limits", post("Content-Length: 99999999999999999999999\r\n", ""), 413},
		{"a blank before the colon", post("Content-Length : 5\r\n", "hello"), 400},
		{"a tab before the colon", post("Transfer-Encoding\t: chunked\r\n", "0\r\n\r\n"), 400},
		{"a header without name", post(": 5\r\n", ""), 400},
		{"a header without colon", post("Content-Length\r\n", ""), 400},
		{"a folded header", post("X: a\r\n b\r\n", ""), 400},
		{"a folded Transfer-Encoding", post("Transfer-Encoding:\r\n chunked\r\n", "0\r\n\r\n"), 400},
		{"a NUL in a value", post("X: a\x00b\r\n", ""), 400},
		{"a CR in a value", post("X: a\rContent-Length: 5\r\n", ""), 400},
		{"a control byte in a name", post("X\x01: a\r\n", ""), 400},
		{"a blank in front of the first header", "GET / HTTP/1.1\r\n Host: h\r\n\r\n", 400},
		{"xchunked", post("Transfer-Encoding: xchunked\r\n", "0\r\n\r\n"), 400},
		{"chunked twice", post(te+te, "0\r\n\r\n"), 400},
		{"chunked, chunked", post("Transfer-Encoding: chunked, chunked\r\n", "0\r\n\r\n"), 400},
		{"gzip, chunked", post("Transfer-Encoding: gzip, chunked\r\n", "0\r\n\r\n"), 400},
		{"identity", post("Transfer-Encoding: identity\r\n", ""), 400},
		{"chunked with a vertical tab", post("Transfer-Encoding: \x0bchunked\r\n", "0\r\n\r\n"), 400},
		{"chunked in quotes", post("Transfer-Encoding: \"chunked\"\r\n", "0\r\n\r\n"), 400},
		{"an empty Transfer-Encoding", post("Transfer-Encoding:\r\n", "0\r\n\r\n"), 400},
		{"chunked in HTTP/1.0", "POST / HTTP/1.0\r\n" + te + "\r\n0\r\n\r\n", 400},
		{"a bare LF in the head", "GET / HTTP/1.1\nHost: h\r\n\r\n", 400},
		{"bare LFs alone", "GET / HTTP/1.1\nHost: h\n\n", 400},
		{"a bare LF before more comes", "GET / HTTP/1.1\n", 400},
		{"a bare LF at the head", "\nGET / HTTP/1.1\r\n\r\n", 400},
		{"no Host", "GET / HTTP/1.1\r\n\r\n", 400},
		{"two Hosts", "GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", 400},
		{"an empty Host", "GET / HTTP/1.1\r\nHost: \r\n\r\n", 400},
		{"two Hosts, one of them empty", "GET / HTTP/1.0\r\nHost: a\r\nHost:\r\n\r\n", 400},
		{"a blank in Host", "GET / HTTP/1.1\r\nHost: a b\r\n\r\n", 400},
		{"a path in Host", "GET / HTTP/1.1\r\nHost: a/b\r\n\r\n", 400},
		{"a user in Host", "GET / HTTP/1.1\r\nHost: evil@localhost\r\n\r\n", 400},
		{"a byte of UTF-8 in Host", "GET / HTTP/1.1\r\nHost: \xc3\xa4\r\n\r\n", 400},
		{"the server as such, but by GET", "GET * HTTP/1.1\r\nHost: h\r\n\r\n", 400},
		{"a target without a slash", "GET index HTTP/1.1\r\nHost: h\r\n\r\n", 400},
		{"a target of a query alone", "GET ?query=true HTTP/1.1\r\nHost: h\r\n\r\n", 400},
		{"a target of another scheme", "GET ftp://h/ HTTP/1.1\r\nHost: h\r\n\r\n", 400},
		{"a URL without a host", "GET http:///index HTTP/1.1\r\nHost: h\r\n\r\n", 400},
		{"a URL with a user", "GET http://u:p@h/index HTTP/1.1\r\nHost: h\r\n\r\n", 400},
		{"a target for a proxy", "CONNECT h:80 HTTP/1.1\r\nHost: h\r\n\r\n", 501},
		{"no version", "GET /\r\n\r\n", 400},
		{"another version", "GET / HTTP/1.2\r\nHost: h\r\n\r\n", 505},
		{"the preface of HTTP/2", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 505},
		{"a version in small letters", "GET / http/1.1\r\nHost: h\r\n\r\n", 400},
		{"a blank too many", "GET  / HTTP/1.1\r\nHost: h\r\n\r\n", 400},
		{"a blank at the end of the line", "GET / HTTP/1.1 \r\nHost: h\r\n\r\n", 400},
		{"a tab instead of a blank", "GET\t/ HTTP/1.1\r\nHost: h\r\n\r\n", 400},
		{"a byte of UTF-8 in the target", "GET /\xc3\xa4 HTTP/1.1\r\nHost: h\r\n\r\n", 400},
		{"a control byte in the target", "GET /\x01 HTTP/1.1\r\nHost: h\r\n\r\n", 400},
		{"a blank in the target", "GET /a b HTTP/1.1\r\nHost: h\r\n\r\n", 400},
		{"another expectation", post("Expect: a-miracle\r\nContent-Length: 5\r\n", "hello"), 417},
		{"a TLS hello", "\x16\x03\x01\x02\x00", 400},
		{"a head over its limit", "GET / HTTP/1.1\r\nHost: h\r\nX: " + strings.Repeat("x", 200), 431},
		{"a body over its limit", post("Content-Length: 1001\r\n", ""), 413},
		{"chunks over the limit together", post(te, "3e8\r\n"+strings.Repeat("x", 1000)+"\r\n1\r\n"), 413},
		{"a chunk over the limit, by its size", post(te, "3e9\r\n"), 413},
		{"a chunk's size over all limits", post(te, "fffffffffffffffff\r\n"), 400},
		{"a chunk without size", post(te, "\r\nhello\r\n0\r\n\r\n"), 400},
		{"a chunk's size with a sign", post(te, "+5\r\nhello\r\n0\r\n\r\n"), 400},
		{"a chunk's size with 0x", post(te, "0x5\r\nhello\r\n0\r\n\r\n"), 400},
		{"a blank behind a chunk's size", post(te, "5 \r\nhello\r\n0\r\n\r\n"), 400},
		{"a bare LF behind a chunk's size", post(te, "5\nhello\r\n0\r\n\r\n"), 400},
		{"a bare LF in a chunk's extension", post(te, "5;a\nb\r\nhello\r\n0\r\n\r\n"), 400},
		{"a bare CR in a chunk's extension", post(te, "5;a\rb\r\nhello\r\n0\r\n\r\n"), 400},
		{"a bare LF behind a chunk", post(te, "5\r\nhello\n0\r\n\r\n"), 400},
		{"a chunk longer than its size", post(te, "5\r\nhello!\r\n0\r\n\r\n"), 400},
		{"a bare LF in the trailer", post(te, "0\r\nX: a\n\r\n"), 400},
		{"a bare LF as the trailer", post(te, "0\r\n\n"), 400},
		{"a length in the trailer", post(te, "0\r\nContent-Length: 5\r\n\r\n"), 400},
		{"a trailer over its limit", post(te, "0\r\nX: "+strings.Repeat("x", 200)), 431},
		{"many lines of a trailer over its limit", post(te, "0\r\n"+strings.Repeat("X: xxxxxxxxxxxxxxxxxxxxxx\r\n", 10)), 431},
		{"a chunk's line without end", post(te, "5;"+strings.Repeat("x", 300)), 400},
		{"chunks of nothing but framing", post(te, strings.Repeat("1;"+strings.Repeat("x", 200)+"\r\nx\r\n", 500)), 413},
	} {
		t.Run(tc.name, func(t *testing.T) {
			for _, front := range []string{"", get} {
				var refused *HTTPError
				c, err := testHTTP.Cut([]byte(front+tc.in), Limit{}, 1<<20, false, &Progress{})
				if !errors.As(err, &refused) || refused.Status != tc.status || refused.Text == "" {
					t.Fatalf("behind %q: got %+v, error %v; want status %d", front, c, err, tc.status)
				}
				if c.Bytes != len(front) {
					t.Errorf("%d bytes in front are whole requests; want %d", c.Bytes, len(front))
				}
				if refused.Status == 413 && !strings.Contains(refused.Text, "over") || refused.Status == 431 && !strings.Contains(refused.Text, "--http-max-head") {
					t.Errorf("the text %q does not name the limit", refused.Text)
				}
			}
		})
	}
}

// The forms in which a request may name what it is for (RFC 9112 3.2).
func TestHTTPTargets(t *testing.T) {
	for _, in := range []string{
		"GET /index?query=a%20b HTTP/1.1\r\nHost: h:5556\r\n\r\n",
		"GET //index HTTP/1.1\r\nHost: [::1]:5556\r\n\r\n",
		"GET http://h/index HTTP/1.1\r\nHost: h\r\n\r\n",
		"GET HTTPS://h HTTP/1.1\r\nHost: h\r\n\r\n",
		"OPTIONS * HTTP/1.1\r\nHost: under_score.example\r\n\r\n",
		"GET / HTTP/1.0\r\n\r\n",
		"GET / HTTP/1.0\r\nHost:\r\n\r\n",
	} {
		if c, err := testHTTP.Cut([]byte(in), Limit{}, 1, false, &Progress{}); err != nil || c.Bytes != len(in) {
			t.Errorf("%q: got %+v, %v", in, c, err)
		}
	}
}

func TestHTTPExactlyAtTheLimits(t *testing.T) {
	full := "GET / HTTP/1.1\r\nHost: h\r\nX: "
	full += strings.Repeat("x", 200-len(full)-4) + "\r\n\r\n"
	body := strings.Repeat("y", 1000)
	var bytewise strings.Builder
	for range 1000 {
		bytewise.WriteString("1\r\ny\r\n")
	}
	te := "Transfer-Encoding: chunked\r\n"
	for _, in := range []string{
		full,
		post("Content-Length: 1000\r\n", body),
		post(te, "3e8\r\n"+body+"\r\n0\r\n\r\n"),
		post(te, "0003E8;ext=1\r\n"+body+"\r\n000\r\nA: b\r\n\r\n"),
		post("tRANSFER-eNCODING:\t Chunked \r\n", bytewise.String()+"0\r\n\r\n"),
	} {
		c, err := testHTTP.Cut([]byte(in), Limit{}, 1, false, &Progress{})
		if err != nil || c.Bytes != len(in) || c.Frames != 1 {
			t.Fatalf("%.60q: got %+v, %v", in, c, err)
		}
		r, rest := NextHTTP([]byte(in))
		if len(rest) > 0 || len(r.Head) > 200 {
			t.Errorf("%.60q: a head of %d bytes, %d left", in, len(r.Head), len(rest))
		}
		if got := string(r.Content()); in != full && got != body {
			t.Errorf("%.60q: a body of %d bytes", in, len(got))
		}
	}
}

// However a stream comes in, the same requests are cut from it, and what a cut asks for
// is enough.
func TestHTTPCutAnywhere(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var stream []byte
		var want []string
		for range rapid.IntRange(0, 6).Draw(t, "requests") {
			r := drawRequest(t)
			want = append(want, r)
			stream = append(stream, strings.Repeat("\r\n", rapid.IntRange(0, 2).Draw(t, "blank"))+r...)
		}
		var pending []byte
		var p Progress
		for len(stream) > 0 {
			n := rapid.IntRange(1, min(len(stream), 300)).Draw(t, "read")
			pending, stream = append(pending, stream[:n]...), stream[n:]
			for again := true; again && len(pending) > 0; {
				c, err := testHTTP.Cut(pending, Limit{}, 500, len(stream) == 0, &p)
				if err != nil {
					t.Fatal(err)
				}
				pending = pending[c.Skip:]
				if again = c.Frames > 0; !again {
					if c.Need > 0 && c.Need <= len(pending) {
						t.Fatalf("%d bytes are needed, and %d there", c.Need, len(pending))
					}
					break
				}
				cut := string(pending[:c.Bytes])
				for range c.Frames {
					if !strings.HasPrefix(cut, want[0]) {
						t.Fatalf("got %.80q; want %.80q", cut, want[0])
					}
					cut, want = cut[len(want[0]):], want[1:]
				}
				pending, p = pending[c.Bytes:], Progress{}
			}
		}
		if len(want) > 0 {
			t.Fatalf("%d requests are left", len(want))
		}
	})
}

func drawRequest(t *rapid.T) string {
	body := strings.Repeat("z", rapid.IntRange(0, 1000).Draw(t, "body"))
	switch rapid.IntRange(0, 2).Draw(t, "kind") {
	case 0:
		return get
	case 1:
		return post(fmt.Sprintf("Content-Length: %d\r\n", len(body)), body)
	}
	var chunks strings.Builder
	for len(body) > 0 {
		n := rapid.IntRange(1, len(body)).Draw(t, "chunk")
		fmt.Fprintf(&chunks, "%x\r\n%s\r\n", n, body[:n])
		body = body[n:]
	}
	return post("Transfer-Encoding: chunked\r\n", chunks.String()+"0\r\n"+rapid.SampledFrom([]string{"", "A: b\r\n"}).Draw(t, "trailer")+"\r\n")
}

func TestHTTPInterimComesOnce(t *testing.T) {
	r := []byte(post("Expect: 100-Continue\r\nContent-Length: 5\r\n", "hello"))
	head := len(r) - 5
	var p Progress
	for n := 1; n < len(r); n++ {
		c, err := testHTTP.Cut(r[:n], Limit{}, 1, false, &p)
		if err != nil || (c.Interim != nil) != (n == head) {
			t.Fatalf("at %d of a head of %d bytes: interim %q, error %v", n, head, c.Interim, err)
		}
	}
	for _, in := range []string{
		string(r), string(r[:head+1]), // the body has begun to come
		post("Expect: 100-continue\r\n", ""),
		"POST / HTTP/1.0\r\nExpect: 100-continue\r\nContent-Length: 5\r\n\r\n",
	} {
		c, err := testHTTP.Cut([]byte(in), Limit{}, 1, false, &Progress{})
		if err != nil || c.Interim != nil {
			t.Errorf("%q: interim %q, error %v", in, c.Interim, err)
		}
	}
}

// A long chunked request asks for the same room each time: its buffer is of that size.
func TestHTTPLongChunkedNeedIsConstant(t *testing.T) {
	h := &HTTP{MaxHead: Limit{Value: 1 << 10}, MaxBody: Limit{Value: 1 << 20}}
	r := []byte(post("Transfer-Encoding: chunked\r\n", strings.Repeat("4000\r\n"+strings.Repeat("x", 0x4000)+"\r\n", 20)+"0\r\nA: b\r\n\r\n"))
	var p Progress
	asked := 0
	for n := 1; n < len(r); n += 1 + n%997 {
		c, err := h.Cut(r[:n], Limit{}, 1, false, &p)
		if err != nil || asked > 0 && c.Need != asked || n > 1<<17 && c.Need == 0 {
			t.Fatalf("at %d of %d: %+v, %v; asked for %d before", n, len(r), c, err, asked)
		}
		asked = c.Need
	}
	if asked < len(r) {
		t.Errorf("asked for %d bytes; the request has %d", asked, len(r))
	}
}

func TestHTTPCutAllocatesNothing(t *testing.T) {
	b := []byte(strings.Repeat(get, 100) + post("Content-Length: 5\r\n", "hel"))
	var p Progress
	if n := testing.AllocsPerRun(100, func() {
		if c, err := testHTTP.Cut(b, Limit{}, 1<<20, false, &p); c.Frames != 100 || err != nil {
			t.Fatal(c, err)
		}
		NextHTTP(b)
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func BenchmarkHTTPCut(b *testing.B) {
	one := "GET /healthz HTTP/1.1\r\nHost: 127.0.0.1:5556\r\nUser-Agent: wrk\r\nAccept: */*\r\n\r\n"
	in := []byte(strings.Repeat(one, 16))
	b.ReportAllocs()
	b.SetBytes(int64(len(in)))
	for b.Loop() {
		if c, err := testHTTP.Cut(in, Limit{}, 1<<20, false, &Progress{}); c.Frames != 16 || err != nil {
			b.Fatal(c, err)
		}
	}
}
