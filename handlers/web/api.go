package web

import (
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/valyala/fasthttp"

	"darboux/frame"
	"darboux/handlers/index"
	"darboux/handlers/query"
	"darboux/handlers/querylog"
)

// API is the endpoints. Its fields are set before Handler is called and not changed
// afterwards.
type API struct {
	Store    index.Store
	Queries  *query.Cache
	QueryLog *querylog.Log // counts queries and tells of them
	MaxEvent frame.Limit   // bytes of an event
	MaxReply frame.Limit   // bytes of events that are sorted
	Access   Access
	// Now is the time in microseconds of the Unix epoch.
	Now func() int64
	// Elapsed is a clock that no one sets, by which slices are measured.
	Elapsed func() time.Duration
	// Report is told of what an operator may want to know. It must not block, and
	// it bounds its own rate.
	Report func(kind, peer, text string)
	// Ready says why the server is not ready; nil: it is.
	Ready func() error
	// Numbers is what /metrics shows.
	Numbers prometheus.Gatherer
	// Pipelines describes the way of a request through the server, in lines.
	Pipelines func() string

	counts    eventCounts
	sorters   sorters
	gathering sync.Mutex // held by the request that gathers Numbers
}

// route is an endpoint.
type route struct {
	need    need
	methods methods
	handle  fasthttp.RequestHandler
}

// pprofPath begins the paths of profiles.
const pprofPath = "/debug/pprof/"

// Handler returns the handler of all endpoints.
func (a *API) Handler() fasthttp.RequestHandler {
	reading := methods{"GET", "HEAD", "OPTIONS"}
	asking := methods{"GET", "HEAD", "POST", "OPTIONS"} // a query may be too long for a head
	routes := map[string]*route{
		"/index":           {toRead, asking, a.index},
		"/index/":          {toRead, asking, a.index},
		"/events":          {toWrite, methods{"PUT", "POST", "OPTIONS"}, a.events},
		"/metrics":         {toRead, reading, a.metrics},
		"/healthz":         {toAsk, reading, healthz},
		"/readyz":          {toAsk, reading, a.readyz},
		"/debug/pipelines": {toDebug, reading, a.pipelines},
	}
	profiles := &route{toDebug, reading, profiles}
	return func(ctx *fasthttp.RequestCtx) {
		path := ctx.Path()
		r := routes[string(path)]
		if r == nil && strings.HasPrefix(string(path), pprofPath) {
			r = profiles
		}
		if r == nil {
			Fail(ctx, fasthttp.StatusNotFound, "there is nothing at this path")
			return
		}
		a.serve(ctx, r)
	}
}

// Brief is for HTTP.Brief: it reports which endpoints need next to nothing for their answers.
func (a *API) Brief(path []byte) bool {
	return string(path) == "/healthz" || string(path) == "/readyz"
}

// serve answers a request to a route, if it is allowed.
func (a *API) serve(ctx *fasthttp.RequestCtx, r *route) {
	preflight := ctx.IsOptions()
	if !preflight && !r.methods.has(ctx.Method()) {
		ctx.Response.Header.Set(fasthttp.HeaderAllow, r.methods.String())
		Fail(ctx, fasthttp.StatusMethodNotAllowed, "the method must be one of "+r.methods.String())
		return
	}
	need := r.need
	switch {
	case preflight:
		need = toAsk // a browser asks without token
	case need == toRead:
		a.Access.allowReading(ctx) // a page may read a refusal, too
	}
	if status, why := a.Access.refusal(ctx, need); status != 0 {
		if status == fasthttp.StatusUnauthorized {
			ctx.Response.Header.Set(fasthttp.HeaderWWWAuthenticate, `Bearer realm="darboux"`)
		}
		Fail(ctx, status, why)
		return
	}
	if preflight {
		ctx.SetStatusCode(fasthttp.StatusNoContent)
		ctx.Response.Header.Set(fasthttp.HeaderAllow, r.methods.String())
		if r.need == toRead {
			a.Access.preflight(ctx, r.methods)
		}
		return
	}
	r.handle(ctx)
}

// methods are those that a route allows.
type methods []string

func (m methods) has(method []byte) bool {
	for _, one := range m {
		if one == string(method) {
			return true
		}
	}
	return false
}

// String is the value of the header Allow.
func (m methods) String() string { return strings.Join(m, ", ") }

const plainText = "text/plain; charset=utf-8"

func healthz(ctx *fasthttp.RequestCtx) {
	ctx.SetContentType(plainText)
	ctx.SetBodyString("ok\n")
}

func (a *API) readyz(ctx *fasthttp.RequestCtx) {
	if err := a.Ready(); err != nil {
		Fail(ctx, fasthttp.StatusServiceUnavailable, err.Error())
		return
	}
	ctx.SetContentType(plainText)
	ctx.SetBodyString("ready\n")
}

func (a *API) pipelines(ctx *fasthttp.RequestCtx) {
	if _, err := readParameters(ctx); err != nil {
		failParameters(ctx, err)
		return
	}
	ctx.SetContentType(plainText)
	ctx.SetBodyString(a.Pipelines())
}

// guard, deferred, turns a panic into damage, unless it is another's.
func guard(others *bool) {
	if v := recover(); v != nil {
		if others != nil && *others {
			panic(v)
		}
		panic(damage{v})
	}
}
