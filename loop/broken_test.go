package loop

import (
	"bytes"
	"io"
	"net"
	"testing"

	"darboux/frame"
)

// streamingHouse has handlers that stream large replies, and tells of each that begins.
func streamingHouse(t *testing.T, handlers int) (*house, chan *toyStream) {
	streams := make(chan *toyStream, 1)
	worker := func() frame.Worker {
		return &toyWorker{stream: func(_ *frame.Burst, s *toyStream) { streams <- s }}
	}
	h := openHouse(t, 1, 0, func(c *Config) {
		c.Protocols[0].NewWorker = worker
		if handlers > 0 {
			c.Ring = frame.NewRing[*frame.Burst](64)
		}
	})
	if h.ring = h.cfg.Ring; h.ring != nil {
		for range handlers {
			h.handlers.Go(func() { h.handleWith(worker()) })
		}
	}
	return h, streams
}

// A reply of any size leaves whole, in pieces of which no more than a window waits.
func TestStreamedReplies(t *testing.T) {
	for _, handlers := range []int{0, 2} {
		h, streams := streamingHouse(t, handlers)
		c := h.dial(t)
		const size = 5 << 20
		send(t, c, append(toyRequest(1, 12, size), toyRequest(2, 12, 8)...))
		<-streams
		most := int64(0)
		got := make([]byte, 0, size)
		for piece := make([]byte, 100_000); len(got) < size; {
			n, err := c.Read(piece[:min(len(piece), size-len(got))])
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, piece[:n]...)
			most = max(most, h.stat("memory held bytes"))
		}
		if !bytes.Equal(got, toyReply(1, size)) {
			t.Error("the reply is another one")
		}
		expect(t, c, toyReply(2, 8))
		if most > 2*frame.OwnReply {
			t.Errorf("%d bytes were held for it", most)
		}
	}
}

// A reply that is broken while its reader stands still closes the connection at the next
// tick; one whose reader goes on closes it behind what was sent. Both are counted.
func TestABrokenReplyClosesItsConnection(t *testing.T) {
	for _, handlers := range []int{0, 2} {
		h, streams := streamingHouse(t, handlers)
		const size = 20 << 20
		stands, goesOn := h.dial(t), h.dial(t)
		send(t, stands, toyRequest(1, 12, size))
		first := <-streams
		h.awaitStill(t)
		first.broken.Store(true)
		h.await(t, "connections closed: stream memory", func(n int64) bool { return n == 1 })
		if !h.reported("in the middle of a reply: " + errToy.Error()) {
			t.Error("it was not reported")
		}
		wantPiece(t, stands, size)

		send(t, goesOn, append(toyRequest(1, 12, size), toyRequest(2, 12, 8)...))
		second := <-streams
		if _, err := io.CopyN(io.Discard, goesOn, 100_000); err != nil {
			t.Fatal(err)
		}
		second.broken.Store(true)
		wantPiece(t, goesOn, size)
		goesOn.Close()
		h.await(t, "connections closed: stream memory", func(n int64) bool { return n == 2 })
		h.await(t, "bursts out", func(n int64) bool { return n == 0 })
		if n := toyKept.Load(); n != 0 {
			t.Errorf("%d are kept", n)
		}
	}
}

// awaitStill waits until the kernel takes nothing more of what is to be sent.
func (h *house) awaitStill(t *testing.T) {
	t.Helper()
	still, last := 0, int64(-1)
	h.await(t, "bytes written", func(n int64) bool {
		if still++; n != last || h.stat("bursts out") > 0 {
			still, last = 0, n
		}
		return still > 100
	})
}

// wantPiece reads up to the end, which must come before that of a reply of size bytes.
func wantPiece(t *testing.T, c net.Conn, size int64) {
	t.Helper()
	if n, _ := io.Copy(io.Discard, c); n >= size { // a reset is an end as well
		t.Errorf("%d bytes of a broken reply came, which has %d", n, size)
	}
}
