package web

import "github.com/valyala/fasthttp"

// Observe is called when a request has come, before it is handled; the End it returns,
// which may be nil, when its reply has been given to the loop, or can't be. Both run on
// the handlers and must not wait; End may also run on a loop. ctx is valid until Observe
// returns.
type Observe func(ctx *fasthttp.RequestCtx) End

// End is told the result of an exchange, once.
type End func(Result)

// Result is how an exchange ended.
type Result struct {
	Status int
	Bytes  int64 // of the body, as far as it was given to the loop
	Err    error // why the reply is not whole; nil: it is
}

// Both observes by a and then by b; either may be nil.
func Both(a, b Observe) Observe {
	if a == nil {
		return b
	}
	if b == nil {
		return a
	}
	return func(ctx *fasthttp.RequestCtx) End {
		endA, endB := a(ctx), b(ctx)
		return func(r Result) {
			if endB != nil {
				endB(r)
			}
			if endA != nil {
				endA(r)
			}
		}
	}
}
