package web

import (
	"strings"
	"testing"

	"github.com/valyala/fasthttp"

	"darboux/frame"
)

// Whole replies leave in front of a body that takes several slices, whatever room there is,
// and the body is what it would be alone.
func TestWholeRepliesDoNotWaitForALongBody(t *testing.T) {
	for _, size := range []int{12_000, firstBuffer, 200_000} {
		for _, own := range []int{128 << 10, frame.OwnReply, 2 << 10} {
			h := testHTTP(func(ctx *fasthttp.RequestCtx) {
				if string(ctx.Path()) == "/brief" {
					ctx.SetBodyString("brief")
					return
				}
				ctx.Response.SetBodyStream(&fixedSlices{left: size}, -1)
			})
			l := newLine(t, h)
			l.own = own
			in := strings.Repeat(asked("/brief"), 2) + asked("/long") + asked("/brief") + asked("/long")
			b := &frame.Burst{In: []byte(in), Peer: l.peer, Home: l, Taker: l, Window: 64 << 10, Extra: frame.NewReserve(4 << 20)}
			b.Start(own)
			if status := l.worker.Work(b); status != frame.Blocked {
				t.Fatalf("%d, %d: status %v after the first slice", size, own, status)
			}
			first := string(b.Out)
			if n := strings.Count(first, "\r\n\r\nbrief"); n != 2 {
				t.Errorf("%d, %d: %d whole replies leave first", size, own, n)
			}
			r := b.TakeReply()
			r.Release()
			out := first + string(l.workOn(b))
			bodies, _ := replies(t, []byte(out), "GET", "GET", "GET", "GET", "GET")
			for i, want := range []int{5, 5, size, 5, size} {
				if len(bodies[i]) != want {
					t.Errorf("%d, %d: body %d has %d bytes; want %d", size, own, i, len(bodies[i]), want)
				}
			}
			if n := b.Extra; n != nil && n.Stats().Taken != 0 {
				t.Errorf("%d bytes are still taken", n.Stats().Taken)
			}
		}
	}
}
