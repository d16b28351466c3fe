package web

import (
	"bufio"
	"bytes"
	"io"
	"net/http"
	"strings"
	"testing"

	"darboux/frame"
)

// Whatever the bytes: each request that is taken is answered once, in order, in a way that
// net/http reads, and nobody is shown the insides; whether a loop works the brief ones or
// the handlers do them all.
func FuzzReplies(f *testing.F) {
	for _, seed := range []string{
		asked("/healthz") + asked("/healthz") + asked("/index?format=json"),
		with("PUT", "/events", `{"host":"h","metric":1}`+"\n"+`{"x":`) + asked("/index?query=host+=+%22h%22&sort=host&limit=1"),
		with("HEAD", "/metrics", "") + with("OPTIONS", "*", "") + with("DELETE", "/index", ""),
		with("POST", "/events", "", "Transfer-Encoding: chunked") + "2\r\n{}\r\n0\r\nA: b\r\n\r\n" + asked("/nothing"),
		"GET /index HTTP/1.0\r\nConnection: keep-alive\r\n\r\n" + asked("/", "Host: [::1"),
		asked("/", "Trailer: Content-Length"), asked("http://h:x/"), with("HEAD", "/", "", "Host: h:x"), "GET * HTTP/1.1\r\nHost: h\r\n\r\n",
		with("POST", "/index", "query=true&limit=1", formType) + with("POST", "/index", "a&a=%zz&=", formType) + asked("/index?a=b&c"),
		asked("/index?query=%28"), asked("/index", "Authorization: Bearer x", "Origin: null"), "\x16\x03\x01",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		h := testHTTP(testAPI().Handler())
		h.Brief = testAPI().Brief
		l := newLine(t, h)
		l.peer = "192.0.2.7:5000" // whom no profile is made for
		var methods []string
		var out []byte
		for len(raw) > 0 && !l.closed {
			cut, err := l.protocol.Cut(raw, l.protocol.MaxFrame, 64<<10, true, &frame.Progress{})
			raw = raw[cut.Skip:]
			if cut.Frames == 0 {
				if err != nil {
					out, l.closed = l.protocol.Refuse(out, err), true
				}
				break
			}
			methods = append(methods, methodsIn(raw[:cut.Bytes])...)
			_, some := l.workBrief(string(raw[:cut.Bytes]))
			out, raw = append(out, some...), raw[cut.Bytes:]
		}
		checkReplies(t, out, methods, l.closed)
	})
}

func methodsIn(requests []byte) (all []string) {
	for len(requests) > 0 {
		r, rest := frame.NextHTTP(requests)
		method, _, _ := strings.Cut(string(r.Head), " ")
		all, requests = append(all, method), rest
	}
	return all
}

// checkReplies checks replies to requests of these methods. Where the connection is closed
// there may be fewer, or one more, the refusal of what is no request.
func checkReplies(t *testing.T, out []byte, methods []string, closed bool) {
	t.Helper()
	r := bufio.NewReader(bytes.NewReader(out))
	n := 0
	for ; ; n++ {
		if _, err := r.Peek(1); err == io.EOF {
			break
		}
		method := "GET"
		if n < len(methods) {
			method = methods[n]
		}
		resp, err := http.ReadResponse(r, &http.Request{Method: method})
		if err != nil {
			t.Fatalf("reply %d: %v: %.300q", n, err, out)
		}
		body, err := io.ReadAll(resp.Body)
		if err != nil || resp.StatusCode == 500 || speaksOfInsides(string(body)) {
			t.Fatalf("reply %d: status %d, %v, %.300q", n, resp.StatusCode, err, body)
		}
	}
	if n != len(methods) && !closed || n > len(methods)+1 {
		t.Fatalf("%d replies to %d requests, closed %v: %.300q", n, len(methods), closed, out)
	}
}
