package web

import (
	"strings"
	"testing"

	"github.com/valyala/fasthttp"

	"darboux/frame"
)

func okHandler(ctx *fasthttp.RequestCtx) {
	ctx.SetContentType(plainText)
	ctx.SetBodyString("ok\n")
}

// BenchmarkWork is a burst of 16 requests to an endpoint, from the cut to the replies: one
// that is brief, and as if it were not.
func BenchmarkWork(b *testing.B) {
	in := []byte(strings.Repeat("GET /healthz HTTP/1.1\r\nHost: 127.0.0.1:5556\r\n\r\n", 16))
	for name, brief := range map[string]func([]byte) bool{"brief": testAPI().Brief, "other": nil} {
		b.Run(name, func(b *testing.B) {
			h := testHTTP(testAPI().Handler())
			h.Brief = brief
			p := h.Protocol()
			w := p.NewWorker()
			burst := &frame.Burst{Peer: "127.0.0.1:1234", Window: 64 << 10}
			burst.Start(frame.OwnReply)
			b.ReportAllocs()
			for b.Loop() {
				cut, err := p.Cut(in, p.MaxFrame, 64<<10, false, &frame.Progress{})
				if err != nil || cut.Frames != 16 {
					b.Fatal(cut, err)
				}
				burst.In, burst.Next, burst.Out = in, 0, burst.Out[:0]
				if w.Work(burst) != frame.Done {
					b.Fatal("not done")
				}
			}
		})
	}
}

// BenchmarkEvents is a body of 64 events as JSON, from the body to the results.
func BenchmarkEvents(b *testing.B) {
	const event = `{"host":"web1.example.com","service":"disk /var","state":"ok","metric":0.42,"time":1700000000,"ttl":300,"tags":["production"],"rack":"12"}`
	for name, body := range map[string]string{"lines": strings.Repeat(event+"\n", 64), "array": "[" + strings.Repeat(event+",\n", 63) + event + "]"} {
		b.Run(name, func(b *testing.B) {
			in := []byte(with("PUT", "/events", body))
			w := testHTTP(testAPI().Handler()).Protocol().NewWorker()
			burst := &frame.Burst{Peer: "127.0.0.1:1234", Window: 64 << 10}
			burst.Start(frame.OwnReply)
			b.ReportAllocs()
			for b.Loop() {
				burst.In, burst.Next, burst.Out = in, 0, burst.Out[:0]
				for w.Work(burst) == frame.Yielded {
				}
			}
		})
	}
}
