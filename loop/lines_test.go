package loop

import (
	"bytes"
	"fmt"
	"reflect"
	"sync"
	"testing"
	"time"

	"darboux/frame"
)

// lineKeeper collects lines, of long ones their length.
type lineKeeper struct {
	mu  sync.Mutex
	got []string
}

func (k *lineKeeper) Work(b *frame.Burst) frame.Status {
	k.mu.Lock()
	defer k.mu.Unlock()
	for b.Next < len(b.In) {
		line, rest := frame.NextLine(b.Left())
		b.Next = len(b.In) - len(rest)
		if len(line) > 100 {
			line = fmt.Appendf(nil, "%d bytes", len(line))
		}
		k.got = append(k.got, string(line))
	}
	return frame.Done
}

// The rest of a line may come when connections that owe the rest of another frame were
// closed twice over.
func TestHalfALineMayWait(t *testing.T) {
	k := &lineKeeper{}
	lines := &frame.Protocol{
		Name: "lines", MaxFrame: frame.Limit{Flag: "--max-line", Value: 1000},
		Cut: frame.CutLines, Unhurried: true, NewWorker: func() frame.Worker { return k },
	}
	h := openHouse(t, 1, 0, func(c *Config) {
		c.FrameTimeout = 50 * time.Millisecond
	})
	// A second group, because a group listens before it starts.
	other := openHouse(t, 1, 0, func(c *Config) {
		c.Protocols = []*frame.Protocol{lines}
		c.FrameTimeout = 50 * time.Millisecond
	})
	c := other.dial(t)
	send(t, c, []byte("half a "))
	other.await(t, "bytes read", func(n int64) bool { return n == 7 })
	for i := range int64(2) {
		send(t, h.dial(t), []byte{0, 0})
		h.await(t, "connections closed: frame timeout", func(n int64) bool { return n == i+1 })
	}
	send(t, c, []byte("line\n"))
	if err := c.CloseWrite(); err != nil {
		t.Fatal(err)
	}
	other.await(t, "connections closed: end of stream", func(n int64) bool { return n == 1 })
	if want := []string{"half a line"}; !reflect.DeepEqual(k.got, want) {
		t.Errorf("got %q; want %q", k.got, want)
	}
}

// A line far longer than any budget comes up once, by its head; its rest is skipped
// over many reads, and the lines around it stand, the last one without newline too.
func TestALongLineIsSkipped(t *testing.T) {
	for _, handlers := range []int{0, 2} {
		t.Run(fmt.Sprint("handlers=", handlers), func(t *testing.T) {
			k := &lineKeeper{}
			p := &frame.Protocol{
				Name: "lines", MaxFrame: frame.Limit{Flag: "--max-line", Value: 1000},
				Cut: frame.CutLines, NewWorker: func() frame.Worker { return k },
			}
			h := openHouse(t, 1, 0, func(c *Config) {
				c.Protocols = []*frame.Protocol{p}
				if handlers > 0 {
					c.Ring = frame.NewRing[*frame.Burst](64)
				}
			})
			h.ring = h.cfg.Ring
			for range handlers {
				h.handlers.Go(func() { h.handleWith(k) })
			}
			c := h.dial(t)
			send(t, c, []byte("first\n"))
			send(t, c, bytes.Repeat([]byte("x"), 1<<20))
			send(t, c, []byte("\nsecond\nlast"))
			if err := c.CloseWrite(); err != nil {
				t.Fatal(err)
			}
			h.await(t, "connections closed: end of stream", func(n int64) bool { return n == 1 })
			k.mu.Lock()
			defer k.mu.Unlock()
			if want := []string{"first", "1000 bytes", "second", "last"}; !reflect.DeepEqual(k.got, want) {
				t.Errorf("got %q; want %q", k.got, want)
			}
			if n := h.stat("frames received"); n != 4 {
				t.Errorf("%d frames received; want 4", n)
			}
		})
	}
}
