package loop

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"darboux/frame"
)

// postbox collects the datagrams that a group gets.
type postbox struct {
	mu   sync.Mutex
	got  [][]byte
	from []netip.AddrPort
}

func (p *postbox) put(body []byte, from netip.AddrPort) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.got = append(p.got, bytes.Clone(body))
	p.from = append(p.from, from)
}

func (p *postbox) count() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.got)
}

// openUDP starts a group of one loop with a UDP socket and a client of it.
func openUDP(t *testing.T, handlers, buffer int) (*house, *postbox, *net.UDPConn) {
	t.Helper()
	return openUDPWith(t, handlers, buffer, func(put func([]byte, netip.AddrPort)) frame.Worker { return datagramWorker{put} })
}

// openUDPWith is openUDP with another worker, which puts what it gets.
func openUDPWith(t *testing.T, handlers, buffer int, worker func(put func([]byte, netip.AddrPort)) frame.Worker) (*house, *postbox, *net.UDPConn) {
	t.Helper()
	p := &postbox{}
	h := &house{}
	protocol := toyProtocol()
	protocol.NewWorker = func() frame.Worker { return worker(p.put) }
	cfg := Config{
		Loops: 1, Protocols: []*frame.Protocol{protocol},
		ConnMemory: frame.Limit{Flag: "--conn-memory", Value: 256 << 10},
		Memory:     frame.Limit{Flag: "--memory", Value: 64 << 20},
		MaxConns:   frame.Limit{Flag: "--max-conns", Value: 1000},
		Report:     h.report,
	}
	if handlers > 0 {
		h.ring = frame.NewRing[*frame.Burst](4)
		cfg.Ring = h.ring
	}
	g, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	h.Group = g
	addr, granted, err := g.ListenDatagrams("127.0.0.1:0", 0, buffer)
	if err != nil {
		t.Fatal(err)
	}
	if granted < min(buffer, 2048) {
		t.Errorf("a buffer of %d bytes was granted for %d", granted, buffer)
	}
	for range handlers {
		h.handlers.Go(func() { h.handleWith(worker(p.put)) })
	}
	g.Start()
	t.Cleanup(func() { h.shut(t) })
	c, err := net.Dial("udp", addr.String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return h, p, c.(*net.UDPConn)
}

func TestDatagramsComeWholeAndInOrder(t *testing.T) {
	for _, handlers := range []int{0, 2} {
		t.Run(fmt.Sprint("handlers=", handlers), func(t *testing.T) {
			h, p, c := openUDP(t, handlers, 1<<20)
			const count = 500
			for i := range count {
				send(t, c, fmt.Appendf(nil, "%d:%s", i, bytes.Repeat([]byte("x"), i)))
			}
			send(t, c, nil)
			large := bytes.Repeat([]byte("y"), 65_507) // the most that fits into IPv4
			send(t, c, large)
			h.await(t, "datagrams received", func(n int64) bool { return n == count+2 })
			h.await(t, "bursts out", func(n int64) bool { return n == 0 })
			for i := range count {
				if want := fmt.Sprintf("%d:", i); !bytes.HasPrefix(p.got[i], []byte(want)) || len(p.got[i]) != len(want)+i {
					t.Fatalf("datagram %d is %.20q, %d bytes", i, p.got[i], len(p.got[i]))
				}
				if p.from[i].String() != c.LocalAddr().String() {
					t.Fatalf("datagram %d is from %v; want %v", i, p.from[i], c.LocalAddr())
				}
			}
			if len(p.got[count]) != 0 || !bytes.Equal(p.got[count+1], large) {
				t.Error("the empty or the large datagram is another one")
			}
		})
	}
}

// Whatever is sent is received or counted as dropped by the kernel, at a socket far too
// small for it.
func TestEveryDatagramIsCounted(t *testing.T) {
	h, p, c := openUDP(t, 1, 4096)
	p.mu.Lock() // no handler gets on
	const sent = 5000
	for range sent {
		send(t, c, make([]byte, 100))
	}
	p.mu.Unlock()
	for end := time.Now().Add(patience); h.stat("datagrams received")+h.stat("datagrams dropped by the kernel") != sent; {
		if time.Now().After(end) {
			t.Fatalf("%d received and %d dropped of %d", h.stat("datagrams received"), h.stat("datagrams dropped by the kernel"), sent)
		}
		time.Sleep(time.Millisecond) // a poll, bounded by the deadline above
	}
	if h.stat("datagrams dropped by the kernel") == 0 {
		t.Error("nothing was dropped: the test proves nothing")
	}
}

func TestDrainTakesTheDatagramsThatWait(t *testing.T) {
	for _, handlers := range []int{0, 1} {
		t.Run(fmt.Sprint("handlers=", handlers), func(t *testing.T) {
			h, p, c := openUDP(t, handlers, 1<<20)
			if n := h.stat("udp sockets"); n != int64(len(h.loops)) || h.stat("connections") != 0 {
				t.Errorf("%d UDP sockets of %d loops, %d connections", n, len(h.loops), h.stat("connections"))
			}
			const count = 1000
			for range count {
				send(t, c, []byte("x"))
			}
			ctx, cancel := context.WithTimeout(context.Background(), patience)
			defer cancel()
			if err := h.Drain(ctx); err != nil {
				t.Fatal(err)
			}
			if got := p.count(); got != count {
				t.Errorf("%d of %d datagrams were worked", got, count)
			}
			if n := h.stat("udp sockets"); n != 0 {
				t.Errorf("%d UDP sockets are left", n)
			}
			for _, s := range h.Stats() { // a socket is none
				if strings.HasPrefix(s.Name, "connections") && s.Value != 0 {
					t.Errorf("%s: %d without a connection", s.Name, s.Value)
				}
			}
		})
	}
}

// yieldingWorker works one datagram at a time.
type yieldingWorker datagramWorker

func (w yieldingWorker) Work(b *frame.Burst) frame.Status {
	body, rest := frame.Next(b.Left())
	b.Next = len(b.In) - len(rest)
	w.got(body, b.From[0])
	if len(rest) > 0 {
		return frame.Yielded
	}
	return frame.Done
}

func TestDatagramsGoOnWhenTheirBurstYielded(t *testing.T) {
	for _, handlers := range []int{0, 1} {
		t.Run(fmt.Sprint("handlers=", handlers), func(t *testing.T) {
			h, p, c := openUDPWith(t, handlers, 1<<20, func(put func([]byte, netip.AddrPort)) frame.Worker {
				return yieldingWorker{put}
			})
			const count = 200
			for range count {
				send(t, c, []byte("x"))
			}
			h.await(t, "datagrams received", func(n int64) bool { return n == count })
			h.await(t, "bursts out", func(int64) bool { return p.count() == count })
		})
	}
}

func TestASecondGroupCannotListenForDatagrams(t *testing.T) {
	h, _, c := openUDP(t, 1, 1<<20)
	other, err := New(h.cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	if _, _, err := other.ListenDatagrams(c.RemoteAddr().String(), 0, 1<<20); !errors.Is(err, unix.EADDRINUSE) {
		t.Errorf("listen says %v; want that the address is in use", err)
	}
}
