package web

import (
	"bytes"
	"io"
	"strings"
	"testing"

	"github.com/valyala/fasthttp"

	"darboux/frame"
)

// pieces is a body of very many pieces, which keeps so many bytes.
type pieces struct{ keeps int }

func (pieces) Read([]byte) (int, error) { return 0, io.ErrNoProgress }

func (pieces) Slice(dst []byte, _ int) ([]byte, error) {
	return append(dst, make([]byte, 1000)...), nil
}

func (p pieces) Size() int { return p.keeps }

// What is kept while a reply is under way, of its request and of its body's source, has
// room of the reserve, and gives it back however the reply ends; without room the answer
// is 503, and the connection goes on.
func TestWhatAReplyKeepsHasRoom(t *testing.T) {
	sliced := func(keeps int) fasthttp.RequestHandler {
		return func(ctx *fasthttp.RequestCtx) { ctx.Response.SetBodyStream(pieces{keeps}, -1) }
	}
	whole := func(ctx *fasthttp.RequestCtx) { ctx.SetBody(make([]byte, 200_000)) }
	for _, row := range []struct {
		name    string
		head    int // bytes of a header
		handler fasthttp.RequestHandler
		want    int // bytes of room, at least
	}{
		{"a small head", 100, sliced(0), 0},
		{"a long head", 10_000, sliced(0), 2*10_000 - smallKept},
		{"a large source", 100, sliced(100_000), 100_000 - smallKept},
		{"a body at hand", 100, whole, 200_000 - smallKept},
	} {
		raw := []byte("GET / HTTP/1.1\r\nHost: a\r\nX: " + strings.Repeat("x", row.head) + "\r\n\r\n")
		for _, reserve := range []int{1 << 20, 1000} {
			l := newLine(t, testHTTP(row.handler))
			b := &frame.Burst{In: raw, Peer: l.peer, Home: l, Extra: frame.NewReserve(reserve)}
			b.Taker = l
			b.Start(frame.OwnReply)
			b.Window = 64 << 10
			status := frame.Yielded
			for status == frame.Yielded {
				status = l.worker.Work(b)
			}
			if refused := bytes.HasPrefix(b.Out, []byte("HTTP/1.1 503 ")); refused != (row.want > reserve) || refused != (status == frame.Done) {
				t.Fatalf("%s, a reserve of %d: status %v, %.40q", row.name, reserve, status, b.Out)
			}
			if taken := b.Extra.Stats().Taken; status == frame.Blocked && taken != b.Room() {
				t.Fatalf("%s: %d bytes are taken; the burst says %d", row.name, taken, b.Room())
			}
			if taken := b.Extra.Stats().Taken; status == frame.Blocked && (taken < row.want || taken > row.want+1000) {
				t.Errorf("%s: %d bytes are taken; want about %d", row.name, taken, row.want)
			}
			b.GiveUp()
			r := b.TakeReply()
			r.Release()
			if taken := b.Extra.Stats().Taken; taken != 0 {
				t.Errorf("%s: %d bytes stay taken", row.name, taken)
			}
		}
	}
}
