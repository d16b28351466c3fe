package web

import (
	"bytes"
	"crypto/sha256"
	"crypto/subtle"
	"net"
	"net/netip"
	"slices"
	"strings"

	"github.com/valyala/fasthttp"
)

// Access is who may ask for what. Tokens come as "Authorization: Bearer TOKEN".
//
// Where a token is set it is wanted: that for reading or the one for writing to read, the
// one for writing to write. Without tokens, whoever reaches the port may ask; but browsers
// reach it for others: so a request from this machine must name a Host that is ours
// (another name may have been bound to this machine's address for a page of its), and a
// page of another origin can't write. Browsers always name a Host: a request of HTTP/1.0
// without one is nobody's page.
type Access struct {
	ReadToken, WriteToken string
	// Names are the hosts that are ours, beside localhost and loopback addresses.
	Names []string
	// CORS is the origin whose pages may read the index, "*" for all, "" for none.
	CORS string
}

// need is what a request has to be allowed.
type need int

const (
	toAsk   need = iota // whether the server is well
	toRead              // the index and the numbers
	toWrite             // events
	toDebug             // the process's inside
)

// refusal says why a request is not allowed; status 0 is: it is.
func (a *Access) refusal(ctx *fasthttp.RequestCtx, n need) (status int, why string) {
	local := isLocal(ctx)
	if local && !a.guarded(n) && !a.ours(ctx.Host()) && !a.known(bearer(ctx)) {
		return fasthttp.StatusForbidden, "the Host of the request is not this server's: use localhost, or a token"
	}
	switch n {
	case toRead:
		if token := bearer(ctx); a.ReadToken != "" && !a.known(token) {
			return fasthttp.StatusUnauthorized, "reading needs the token of --http-read-token"
		}
	case toWrite:
		return a.refuseWrite(ctx, bearer(ctx))
	case toDebug:
		if !same(bearer(ctx), a.WriteToken) && !(local && a.ours(ctx.Host()) && !foreignOrigin(ctx)) {
			return fasthttp.StatusForbidden, "this is for loopback addresses, or needs the token of --http-write-token"
		}
	}
	return 0, ""
}

// known reports whether a token is one of ours, wanted or not: no page of others has it.
func (a *Access) known(token []byte) bool {
	return same(token, a.ReadToken) || same(token, a.WriteToken)
}

// guarded reports whether a token is wanted for n.
func (a *Access) guarded(n need) bool {
	switch n {
	case toRead:
		return a.ReadToken != ""
	case toWrite:
		return a.WriteToken != ""
	}
	return a.ReadToken != "" || a.WriteToken != ""
}

func (a *Access) refuseWrite(ctx *fasthttp.RequestCtx, token []byte) (int, string) {
	switch {
	case a.WriteToken != "" && same(token, a.WriteToken):
		return 0, ""
	case a.WriteToken != "" && a.ReadToken != "" && same(token, a.ReadToken):
		return fasthttp.StatusForbidden, "the token is the one for reading; writing needs that of --http-write-token"
	case a.WriteToken != "":
		return fasthttp.StatusUnauthorized, "writing needs the token of --http-write-token"
	case a.ReadToken != "":
		return fasthttp.StatusForbidden, "writing is off while only --http-read-token is set: set --http-write-token, too"
	case foreignOrigin(ctx):
		return fasthttp.StatusForbidden, "a page of another origin can't write without the token of --http-write-token"
	}
	return 0, ""
}

// same compares a token with the one that is wanted, in a time that depends on neither.
func same(token []byte, want string) bool {
	a, b := sha256.Sum256(token), sha256.Sum256([]byte(want))
	return subtle.ConstantTimeCompare(a[:], b[:]) == 1 && want != ""
}

// bearer is the token that came with the request; nil if there is none.
func bearer(ctx *fasthttp.RequestCtx) []byte {
	const scheme = "bearer "
	v := ctx.Request.Header.Peek(fasthttp.HeaderAuthorization)
	if len(v) < len(scheme) || !bytes.EqualFold(v[:len(scheme)], []byte(scheme)) {
		return nil
	}
	return bytes.TrimSpace(v[len(scheme):])
}

// isLocal reports whether the request comes from this machine itself.
func isLocal(ctx *fasthttp.RequestCtx) bool {
	addr, ok := ctx.RemoteAddr().(*net.TCPAddr)
	return ok && addr.IP.IsLoopback()
}

// ours reports whether a Host header names this server as only this machine can, or nobody.
func (a *Access) ours(host []byte) bool {
	if len(host) == 0 {
		return true
	}
	name := bytes.TrimSuffix(hostName(host), []byte("."))
	switch string(name) {
	case "localhost", "127.0.0.1", "::1": // nearly always
		return true
	}
	text := strings.ToLower(string(name))
	if ip, err := netip.ParseAddr(text); err == nil {
		return ip.Unmap().IsLoopback()
	}
	return text == "localhost" || slices.Contains(a.Names, text)
}

// hostName is a Host header without its port.
func hostName(host []byte) []byte {
	if rest, ok := bytes.CutPrefix(host, []byte("[")); ok {
		name, _, _ := bytes.Cut(rest, []byte("]"))
		return name
	}
	name, _, _ := bytes.Cut(host, []byte(":"))
	return name
}

// foreignOrigin reports whether a page of another origin sent the request, which browsers
// tell by one header or the other.
func foreignOrigin(ctx *fasthttp.RequestCtx) bool {
	switch string(ctx.Request.Header.Peek("Sec-Fetch-Site")) {
	case "cross-site", "same-site":
		return true
	}
	origin := string(ctx.Request.Header.Peek(fasthttp.HeaderOrigin))
	if origin == "" {
		return false
	}
	_, host, ok := strings.Cut(origin, "://")
	return !ok || !strings.EqualFold(host, string(ctx.Host()))
}

// allowReading tells a browser whose pages may read the reply.
func (a *Access) allowReading(ctx *fasthttp.RequestCtx) {
	if a.CORS == "" {
		return
	}
	ctx.Response.Header.Set(fasthttp.HeaderAccessControlAllowOrigin, a.CORS)
	if a.CORS != "*" {
		ctx.Response.Header.Add(fasthttp.HeaderVary, fasthttp.HeaderOrigin)
	}
}

// preflight answers what a browser asks before it lets a page read.
func (a *Access) preflight(ctx *fasthttp.RequestCtx, m methods) {
	a.allowReading(ctx)
	ctx.Response.Header.Set(fasthttp.HeaderAccessControlAllowMethods, m.String())
	ctx.Response.Header.Set(fasthttp.HeaderAccessControlAllowHeaders, fasthttp.HeaderAuthorization)
	ctx.Response.Header.Set(fasthttp.HeaderAccessControlMaxAge, "600")
}
