package web

import (
	"context"
	"strings"

	"github.com/valyala/fasthttp"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
)

// spanKey is the user value under which a request's context with its span stands, for
// handlers that have parts of their own to trace.
type spanKey struct{}

// mostTraced is the most bytes of a request's method, of its path and of an error that a
// span holds.
const mostTraced = 1 << 10

// traced is a text as a span may hold it: cut, and UTF-8 whatever it comes from, because a
// batch of spans with anything else in it is not sent.
func traced[T []byte | string](text T) string {
	return strings.ToValidUTF8(string(text[:min(len(text), mostTraced)]), "\uFFFD")
}

// Traces observes by a span for each exchange. The client's context is taken from the
// request (W3C Trace Context), and that of the span put into the reply.
func Traces(provider trace.TracerProvider) Observe {
	tracer := provider.Tracer("darboux/http")
	w3c := propagation.TraceContext{}
	return func(ctx *fasthttp.RequestCtx) End {
		parent := w3c.Extract(context.Background(), requestCarrier{&ctx.Request.Header})
		method, path := traced(ctx.Method()), traced(ctx.Path())
		inner, span := tracer.Start(parent, method+" "+path, trace.WithSpanKind(trace.SpanKindServer), trace.WithAttributes(
			attribute.String("http.request.method", method),
			attribute.String("url.path", path),
			attribute.String("client.address", ctx.RemoteAddr().String()),
		))
		w3c.Inject(inner, responseCarrier{&ctx.Response.Header})
		ctx.SetUserValue(spanKey{}, inner)
		return func(r Result) {
			span.SetAttributes(attribute.Int("http.response.status_code", r.Status), attribute.Int64("http.response.body.size", r.Bytes))
			if r.Err != nil {
				span.SetStatus(codes.Error, traced(r.Err.Error()))
			} else if r.Status >= 500 {
				span.SetStatus(codes.Error, fasthttp.StatusMessage(r.Status))
			}
			span.End()
		}
	}
}

// Context returns the context of a request's span; without traces one without.
func Context(ctx *fasthttp.RequestCtx) context.Context {
	if c, ok := ctx.UserValue(spanKey{}).(context.Context); ok {
		return c
	}
	return context.Background()
}

// requestCarrier and responseCarrier let a propagator read and write headers.
type requestCarrier struct{ h *fasthttp.RequestHeader }

func (c requestCarrier) Get(key string) string { return string(c.h.Peek(key)) }
func (c requestCarrier) Set(key, value string) { c.h.Set(key, value) }
func (c requestCarrier) Keys() []string        { return keys(c.h.PeekKeys()) }

type responseCarrier struct{ h *fasthttp.ResponseHeader }

func (c responseCarrier) Get(key string) string { return string(c.h.Peek(key)) }
func (c responseCarrier) Set(key, value string) { c.h.Set(key, value) }
func (c responseCarrier) Keys() []string        { return keys(c.h.PeekKeys()) }

func keys(all [][]byte) []string {
	names := make([]string, len(all))
	for i, k := range all {
		names[i] = string(k)
	}
	return names
}
