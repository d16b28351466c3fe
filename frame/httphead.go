package frame

import "bytes"

// httpHead is what a request's head says about its framing.
type httpHead struct {
	length int64 // of the body; -1 is chunked
	expect bool  // the peer waits for 100 Continue before it sends the body
}

var (
	errBareLF = &HTTPError{Status: 400, Text: "a line ends with LF alone; it must be CR LF"}
	errBareCR = &HTTPError{Status: 400, Text: "a CR stands without LF"}
)

// headScan is what is gathered from a head line by line.
type headScan struct {
	length          int64 // -1: no Content-Length
	chunked, expect bool
	http10          bool
	hosts           int
	named           bool // one of them is not empty
}

// parseHead reads a whole head, which ends with its empty line.
func parseHead(b []byte) (httpHead, *HTTPError) {
	s := headScan{length: -1}
	for first := true; ; first = false {
		n := bytes.IndexByte(b, '\n')
		if n == 0 || b[n-1] != '\r' {
			return httpHead{}, errBareLF
		}
		line := b[:n-1]
		b = b[n+1:]
		var err *HTTPError
		switch {
		case first:
			s.http10, err = requestLine(line)
		case len(line) == 0:
			return s.framing()
		default:
			err = s.header(line)
		}
		if err != nil {
			return httpHead{}, err
		}
	}
}

// framing is what the headers say together.
func (s *headScan) framing() (httpHead, *HTTPError) {
	switch {
	case s.chunked && s.length >= 0:
		return httpHead{}, refuseHTTP(400, "Content-Length and Transfer-Encoding stand together")
	case s.chunked && s.http10:
		return httpHead{}, refuseHTTP(400, "HTTP/1.0 has no Transfer-Encoding")
	case s.hosts == 0 && !s.http10:
		return httpHead{}, refuseHTTP(400, "the header Host is missing")
	case !s.named && !s.http10:
		return httpHead{}, refuseHTTP(400, "the header Host is empty")
	case s.chunked:
		return httpHead{length: -1, expect: s.expect}, nil
	}
	return httpHead{length: max(s.length, 0), expect: s.expect && !s.http10}, nil
}

// requestLine checks a request's first line, without its end.
func requestLine(b []byte) (http10 bool, err *HTTPError) {
	method, b, _ := bytes.Cut(b, []byte(" "))
	if len(method) == 0 || !all(method, tokenByte) {
		return false, refuseHTTP(400, "a request's line must begin with its method and a blank")
	}
	target, version, _ := bytes.Cut(b, []byte(" "))
	if len(target) == 0 {
		return false, refuseHTTP(400, "a request's line must be its method, target and HTTP version with a blank between them")
	}
	if !all(target, targetByte) {
		return false, refuseHTTP(400, "a request's target must be of visible ASCII characters; others are written as %%XX: %.100q", target)
	}
	switch {
	case string(version) == "HTTP/1.1":
		return false, checkTarget(method, target)
	case string(version) == "HTTP/1.0":
		return true, checkTarget(method, target)
	case len(version) == 8 && string(version[:5]) == "HTTP/" && isDigit(version[5]) && version[6] == '.' && isDigit(version[7]):
		return false, refuseHTTP(505, "the version is %s; HTTP/1.1 and HTTP/1.0 are served", version)
	}
	return false, refuseHTTP(400, "a request's line must end with the HTTP version")
}

// checkTarget checks what a request is for: a path, a URL with a host, or for OPTIONS *, the
// server as such (RFC 9112 3.2).
func checkTarget(method, target []byte) *HTTPError {
	if target[0] == '/' {
		return nil
	}
	scheme, rest, _ := bytes.Cut(target, []byte("://"))
	switch {
	case string(method) == "CONNECT":
		return refuseHTTP(501, "CONNECT is for proxies, and this is none")
	case string(target) == "*":
		if string(method) == "OPTIONS" {
			return nil
		}
		return refuseHTTP(400, "the target * is for the method OPTIONS")
	case !sameFold(scheme, "http") && !sameFold(scheme, "https"):
		return refuseHTTP(400, "a request's target must begin with / or http://")
	}
	host := rest
	if end := bytes.IndexAny(rest, "/?#"); end >= 0 {
		host = rest[:end]
	}
	if len(host) == 0 || !all(host, hostByte) {
		return refuseHTTP(400, "the host %q in the request's target is none", host)
	}
	return nil
}

// headerLine checks a header's line, without its end, and splits it. The blanks around
// the value are left out.
func headerLine(b []byte) (name, value []byte, err *HTTPError) {
	colon := bytes.IndexByte(b, ':')
	if colon <= 0 || !all(b[:colon], tokenByte) {
		return nil, nil, refuseHTTP(400, "a header's line must begin with its name and, without a blank, a colon")
	}
	name, value = b[:colon], b[colon+1:]
	if !all(value, valueByte) {
		return nil, nil, refuseHTTP(400, "the value of the header %s has a control byte in it", name)
	}
	for len(value) > 0 && isBlank(value[0]) {
		value = value[1:]
	}
	for len(value) > 0 && isBlank(value[len(value)-1]) {
		value = value[:len(value)-1]
	}
	return name, value, nil
}

// header takes a header's line.
func (s *headScan) header(line []byte) *HTTPError {
	name, value, err := headerLine(line)
	if err != nil {
		return err
	}
	switch len(name) { // which costs less than to compare each name
	case len("Host"):
		if sameFold(name, "host") {
			return s.host(value)
		}
	case len("Expect"):
		if sameFold(name, "expect") {
			return s.expectation(value)
		}
	case len("Content-Length"):
		if sameFold(name, "content-length") {
			return s.contentLength(value)
		}
	case len("Transfer-Encoding"):
		if sameFold(name, "transfer-encoding") {
			return s.transferEncoding(value)
		}
	}
	return nil
}

func (s *headScan) host(value []byte) *HTTPError {
	if s.hosts++; s.hosts > 1 {
		return refuseHTTP(400, "the header Host stands there twice")
	}
	if s.named = len(value) > 0; s.named && !all(value, hostByte) {
		return refuseHTTP(400, "the header Host is no name or address: %q", value)
	}
	return nil
}

func (s *headScan) expectation(value []byte) *HTTPError {
	if !sameFold(value, "100-continue") {
		return refuseHTTP(417, "the expectation %q can't be met", value)
	}
	s.expect = true
	return nil
}

func (s *headScan) contentLength(value []byte) *HTTPError {
	if s.length >= 0 {
		return refuseHTTP(400, "the header Content-Length stands there twice")
	}
	if len(value) == 0 || !all(value, digitByte) {
		return refuseHTTP(400, "the Content-Length %q is no number", value)
	}
	s.length = 0
	for _, digit := range value {
		if s.length >= 1e17 {
			return refuseHTTP(413, "the Content-Length %s is over all limits", value)
		}
		s.length = 10*s.length + int64(digit-'0')
	}
	return nil
}

func (s *headScan) transferEncoding(value []byte) *HTTPError {
	if s.chunked || !sameFold(value, "chunked") {
		return refuseHTTP(400, "the Transfer-Encoding must be chunked, once; here is %q", value)
	}
	s.chunked = true
	return nil
}

// What a byte may stand in.
const (
	tokenByte  = 1 << iota // a method or a header's name
	targetByte             // a request's target
	valueByte              // a header's value
	digitByte
	hostByte // a host, with its port
)

// byteKinds says for each byte what it may stand in (RFC 9110 5.6.2, 5.5; RFC 3986 3.2).
var byteKinds = func() (kinds [256]uint8) {
	for c := range kinds {
		if c > ' ' && c != 0x7f {
			kinds[c] |= valueByte
		}
		if c > ' ' && c < 0x7f {
			kinds[c] |= targetByte
		}
		if c >= '0' && c <= '9' {
			kinds[c] |= digitByte | tokenByte | hostByte
		}
		if c|0x20 >= 'a' && c|0x20 <= 'z' {
			kinds[c] |= tokenByte | hostByte
		}
	}
	for _, c := range []byte("!#$%&'*+-.^_`|~") {
		kinds[c] |= tokenByte
	}
	for _, c := range []byte("-._~%!$&'()*+,;=:[]") {
		kinds[c] |= hostByte
	}
	kinds[' '] |= valueByte
	kinds['\t'] |= valueByte
	return kinds
}()

func all(b []byte, kind uint8) bool {
	and := kind
	for _, c := range b {
		and &= byteKinds[c]
	}
	return and != 0
}

func isToken(c byte) bool { return byteKinds[c]&tokenByte != 0 }
func isValue(c byte) bool { return byteKinds[c]&valueByte != 0 }
func isDigit(c byte) bool { return c >= '0' && c <= '9' }
func isBlank(c byte) bool { return c == ' ' || c == '\t' }

// hexValue is the value of a hexadecimal digit, -1 of any other byte.
func hexValue(c byte) int {
	switch {
	case isDigit(c):
		return int(c - '0')
	case c|0x20 >= 'a' && c|0x20 <= 'f':
		return int(c|0x20-'a') + 10
	}
	return -1
}

// sameFold reports whether b is the lower-case text, whatever the case of its letters.
func sameFold(b []byte, text string) bool {
	if len(b) != len(text) {
		return false
	}
	for i, c := range b {
		if c >= 'A' && c <= 'Z' {
			c |= 0x20
		}
		if c != text[i] {
			return false
		}
	}
	return true
}
