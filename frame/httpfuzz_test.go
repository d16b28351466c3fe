package frame

import (
	"bufio"
	"bytes"
	"testing"

	"github.com/valyala/fasthttp"
)

// byFasthttp returns where fasthttp says that the first request ends, and its body; 0 if
// it refuses it or wants more.
func byFasthttp(b []byte) (end int, body []byte) {
	source := bytes.NewReader(b)
	r := bufio.NewReaderSize(source, 1<<16)
	var req fasthttp.Request
	if err := req.Header.Read(r); err != nil {
		return 0, nil
	}
	if err := req.ContinueReadBody(r, 0, false); err != nil {
		return 0, nil
	}
	return len(b) - source.Len() - r.Buffered(), req.Body()
}

// Whatever the bytes: if both take a request, it ends at the same byte and has the same
// body, so that nobody can hide a request in another one's body. Here fasthttp is who
// parses what is cut.
func FuzzHTTPCutAgreesWithFasthttp(f *testing.F) {
	te := "Transfer-Encoding: chunked\r\n"
	for _, seed := range []string{
		get, get + get, "\r\n" + get,
		post("Content-Length: 5\r\n", "hello"+get),
		post("Content-Length: 5\r\nContent-Length: 0\r\n", "hello"),
		post(te, "5\r\nhello\r\n0\r\n\r\n"+get),
		post(te, "5;ext=\"a\"\r\nhello\r\n0\r\nA: b\r\n\r\n"+get),
		post(te+"Content-Length: 3\r\n", "0\r\n\r\n"),
		post("Transfer-Encoding: identity\r\nContent-Length: 5\r\n", "hello"),
		"GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n",
		"GET / HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\n\r\nhello",
		"HEAD / HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\n\r\nhello",
		post("Content-Type: multipart/form-data; boundary=x\r\nContent-Length: 5\r\n", "--x--"),
		post("Expect: 100-continue\r\nContent-Length: 5\r\n", "hello"),
		post("X: a\r\n b\r\n", ""), post("Content-Length : 5\r\n", "hello"),
		"GET / HTTP/1.1\nHost: h\n\n",
	} {
		f.Add([]byte(seed))
	}
	h := &HTTP{MaxHead: Limit{Value: 1 << 14}, MaxBody: Limit{Value: 1 << 20}}
	f.Fuzz(func(t *testing.T, b []byte) {
		c, err := h.Cut(b, Limit{}, 1, true, &Progress{})
		if c.Skip+c.Bytes > len(b) || c.Frames > 1 {
			t.Fatalf("%+v of %d bytes", c, len(b))
		}
		if err != nil || c.Frames == 0 {
			return
		}
		r, rest := NextHTTP(bytes.Clone(b[c.Skip : c.Skip+c.Bytes]))
		if len(rest) > 0 {
			t.Fatalf("%d bytes are left of a cut", len(rest))
		}
		end, body := byFasthttp(b)
		if end == 0 {
			return
		}
		if end != c.Skip+c.Bytes {
			t.Fatalf("the request ends at %d here and at %d to fasthttp: %q", c.Skip+c.Bytes, end, b)
		}
		if mine := r.Content(); !bytes.Equal(mine, body) {
			t.Fatalf("the body is %q here and %q to fasthttp", mine, body)
		}
	})
}
