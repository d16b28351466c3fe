package loop

import (
	"encoding/binary"
	"slices"
	"testing"
	"time"

	"darboux/frame"
)

// longFrame is the sequence number from which on frames are not brief.
const longFrame = 1000

// briefWorker finds the toy requests up to longFrame brief.
type briefWorker struct{ toyWorker }

func (w *briefWorker) Work(b *frame.Burst) frame.Status {
	w.long = func() bool {
		body, _ := frame.Next(b.Left())
		return binary.BigEndian.Uint32(body) >= longFrame
	}
	return w.toyWorker.Work(b)
}

// openBrief starts a group that has a ring, but handlers only once they are begun.
func openBrief(t *testing.T) *house {
	h := openHouse(t, 1, 0, func(c *Config) {
		c.Protocols[0].Brief = true
		c.Protocols[0].NewWorker = func() frame.Worker { return &briefWorker{} }
		c.Ring = frame.NewRing[*frame.Burst](64)
	})
	h.ring = h.cfg.Ring
	return h
}

func (h *house) beginHandlers(n int) {
	for range n {
		h.handlers.Go(h.handle)
	}
}

// A small burst is answered by the loop itself, up to the first frame that is not brief;
// what is left is handed over, and so is a large burst.
func TestBriefBursts(t *testing.T) {
	h := openBrief(t)
	c := h.dial(t)
	send(t, c, slices.Concat(toyRequest(7, 20, 20), toyRequest(8, 20, 20)))
	expect(t, c, slices.Concat(toyReply(7, 20), toyReply(8, 20)))
	if got := h.stat("bursts worked by loops"); got == 0 {
		t.Error("no burst was worked by the loop, but somebody answered")
	}
	send(t, c, slices.Concat(toyRequest(1, 20, 20), toyRequest(longFrame, 20, 20), toyRequest(2, 20, 20)))
	large := h.dial(t)
	send(t, large, toyRequest(3, briefSize+1, 20))
	deadline := time.Now().Add(patience)
	for h.ring.Len() < 2 {
		if time.Now().After(deadline) {
			t.Fatalf("%d bursts are handed over; want 2", h.ring.Len())
		}
		time.Sleep(time.Millisecond) // a poll, bounded by the deadline above
	}
	h.beginHandlers(2)
	expect(t, c, slices.Concat(toyReply(1, 20), toyReply(longFrame, 20), toyReply(2, 20)))
	expect(t, large, toyReply(3, 20))
}

// A loop that works bursts itself gives that half of its time, and can save up some.
func TestOwnWork(t *testing.T) {
	var w workTime
	now := time.Unix(1e9, 0)
	work := func(rest, length time.Duration) bool {
		now = now.Add(rest)
		ok := w.allow(now)
		if ok {
			now = now.Add(length)
			w.end(now)
		}
		return ok
	}
	const µs = time.Microsecond
	for i, step := range []struct {
		rest, length time.Duration
		want         bool
	}{
		{0, 700 * µs, true},  // a loop begins with a millisecond
		{0, 1000 * µs, true}, // 300 were left, and half of the last 700 came
		{0, 100 * µs, true},  // -350, and half of the last 1,000
		{0, 200 * µs, true},  // 50, and 50
		{0, 100 * µs, false}, // -100, and 100
		{1 * µs, 0, true},
		{time.Hour, 700 * µs, true},
		{3000 * µs, 5000 * µs, true},
		{0, 0, true}, // a millisecond is owed at most, and half of 5,000 came
	} {
		if got := work(step.rest, step.length); got != step.want {
			t.Errorf("step %d: %v; want %v", i, got, step.want)
		}
	}
}
