package loop

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"darboux/frame"
)

// patience is how long a test waits for what must come.
const patience = 20 * time.Second

// house is a group with handlers, on real sockets.
type house struct {
	*Group
	addr     string
	ring     *frame.Ring[*frame.Burst]
	handlers sync.WaitGroup
	mu       sync.Mutex
	reports  []string
}

// open starts a group with so many loops and handlers; change may alter its settings.
func openHouse(t *testing.T, loops, handlers int, change func(*Config)) *house {
	t.Helper()
	h := &house{}
	cfg := Config{
		Loops: loops, Protocols: []*frame.Protocol{toyProtocol()},
		ConnMemory: frame.Limit{Flag: "--conn-memory", Value: 256 << 10},
		Memory:     frame.Limit{Flag: "--memory", Value: 64 << 20},
		MaxConns:   frame.Limit{Flag: "--max-conns", Value: 1000},
		Report:     h.report,
	}
	if handlers > 0 {
		h.ring = frame.NewRing[*frame.Burst](64)
		cfg.Ring = h.ring
	}
	if change != nil {
		change(&cfg)
	}
	g, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	h.Group = g
	addr, err := g.Listen("127.0.0.1:0", 0)
	if err != nil {
		t.Fatal(err)
	}
	h.addr = addr.String()
	for range handlers {
		h.handlers.Go(func() { h.handle() })
	}
	g.Start()
	t.Cleanup(func() { h.shut(t) })
	return h
}

func (h *house) report(kind, peer, text string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.reports = append(h.reports, kind+": "+text)
}

func (h *house) reported(part string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return strings.Contains(strings.Join(h.reports, "\n"), part)
}

func (h *house) handle() { h.handleWith(&toyWorker{}) }

func (h *house) handleWith(w frame.Worker) {
	for {
		b, ok := h.ring.Pop()
		if !ok {
			if !h.ring.Park(h.ring.Empty) {
				return
			}
			continue
		}
		b.Status = w.Work(b)
		b.Home.GiveBack(b)
	}
}

// shut stops the group and holds it to its ledger.
func (h *house) shut(t *testing.T) {
	h.Stop()
	if h.ring != nil {
		h.ring.Close()
	}
	h.handlers.Wait()
	if err := h.Close(); err != nil {
		t.Error(err)
	}
	if b := h.Ledger(); !b.Balanced() {
		t.Errorf("the ledger is not balanced: %+v", b)
	}
	if n := h.stat("reads while paused"); n != 0 {
		t.Errorf("%d reads of paused connections", n)
	}
}

func (h *house) stat(name string) int64 {
	for _, s := range h.Stats() {
		if s.Name == name {
			return s.Value
		}
	}
	panic("no counter is called " + name)
}

// await waits until a counter or gauge satisfies ok.
func (h *house) await(t *testing.T, name string, ok func(int64) bool) {
	t.Helper()
	for end := time.Now().Add(patience); !ok(h.stat(name)); {
		if time.Now().After(end) {
			t.Fatalf("%s stays at %d", name, h.stat(name))
		}
		time.Sleep(time.Millisecond) // a poll, bounded by the deadline above
	}
}

func (h *house) dial(t *testing.T) *net.TCPConn {
	t.Helper()
	c, err := net.Dial("tcp", h.addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	if err := c.SetDeadline(time.Now().Add(patience)); err != nil {
		t.Fatal(err)
	}
	return c.(*net.TCPConn)
}

func send(t *testing.T, c net.Conn, b []byte) {
	t.Helper()
	if _, err := c.Write(b); err != nil {
		t.Fatal(err)
	}
}

func expect(t *testing.T, c net.Conn, want []byte) {
	t.Helper()
	got := make([]byte, len(want))
	if _, err := io.ReadFull(c, got); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Fatalf("got %.40q; want %.40q", got, want)
	}
}

// kinds runs a test with handlers, with several loops, and on the loop.
func kinds(t *testing.T, test func(t *testing.T, h *house)) {
	t.Run("1 loop, 2 handlers", func(t *testing.T) { test(t, openHouse(t, 1, 2, nil)) })
	t.Run("3 loops, 2 handlers", func(t *testing.T) { test(t, openHouse(t, 3, 2, nil)) })
	t.Run("on the loop", func(t *testing.T) { test(t, openHouse(t, 1, 0, nil)) })
}

func TestPipelinedRequestsAreAnsweredInOrder(t *testing.T) {
	kinds(t, func(t *testing.T, h *house) {
		var clients sync.WaitGroup
		for range 8 {
			c := h.dial(t)
			clients.Go(func() {
				var requests, replies []byte
				for seq := range 2000 {
					requests = append(requests, toyRequest(seq, 12+seq%500, 8+seq%700)...)
					replies = append(replies, toyReply(seq, 8+seq%700)...)
				}
				go c.Write(requests)
				got := make([]byte, len(replies))
				if _, err := io.ReadFull(c, got); err != nil || !bytes.Equal(got, replies) {
					t.Errorf("the replies differ, error %v", err)
				}
			})
		}
		clients.Wait()
	})
}

func TestHalfCloseGetsEveryReply(t *testing.T) {
	kinds(t, func(t *testing.T, h *house) {
		c := h.dial(t)
		var want []byte
		for seq := range 3000 {
			send(t, c, toyRequest(seq, 50, 100))
			want = append(want, toyReply(seq, 100)...)
		}
		send(t, c, []byte{0, 0}) // and half a frame, which is nobody's
		if err := c.CloseWrite(); err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(c)
		if err != nil || !bytes.Equal(got, want) {
			t.Errorf("%d bytes, error %v; want %d", len(got), err, len(want))
		}
		h.await(t, "connections closed: end of stream", func(n int64) bool { return n == 1 })
		if n := h.stat("frames incomplete at the end of the stream"); n != 1 {
			t.Errorf("%d incomplete frames are counted; want 1", n)
		}
	})
}

func TestRefusalReachesAClientThatIsStillSending(t *testing.T) {
	kinds(t, func(t *testing.T, h *house) {
		c := h.dial(t)
		send(t, c, toyRequest(0, 12, 8))
		sent := make(chan error, 1)
		go func() {
			b := make([]byte, 10<<20)
			copy(b[1<<20:], "\xff\xff\xff\xff") // in the middle, behind a whole frame
			copy(b, toyRequest(1, 1<<20, 8)[:12])
			_, err := c.Write(b)
			sent <- err
		}()
		expect(t, c, toyReply(0, 8))
		expect(t, c, toyReply(1, 8))
		rest, err := io.ReadAll(c)
		if err != nil || !strings.Contains(string(rest), "4294967295") || !strings.Contains(string(rest), "--max-frame") {
			t.Errorf("got %q, error %v; want the refusal and the end of stream", rest, err)
		}
		if err := <-sent; err != nil {
			t.Errorf("sending failed: %v", err)
		}
		c.Close()
		h.await(t, "connections closed: frame refused", func(n int64) bool { return n == 1 })
	})
}

func TestAFloodThatIsNotReadPausesAtItsBudget(t *testing.T) {
	kinds(t, func(t *testing.T, h *house) {
		flood := h.dial(t)
		request := bytes.Repeat(toyRequest(0, 12, 1000), 10_000)
		stopped := make(chan struct{})
		go func() {
			defer close(stopped)
			for range 1000 {
				if _, err := flood.Write(request); err != nil {
					return
				}
			}
		}()
		h.await(t, "pauses by connection memory", func(n int64) bool { return n+h.stat("pauses by window") > 0 })
		bystander := h.dial(t)
		for seq := range 1000 {
			send(t, bystander, toyRequest(seq, 100, 100))
			expect(t, bystander, toyReply(seq, 100))
		}
		// The flood's budget, a window of its replies, and room for the replies to a burst
		// of each connection, which may still be out.
		if n, most := h.stat("memory held bytes"), int64(256<<10+Window+2*frame.OwnReply); n > most {
			t.Errorf("%d bytes are held for two connections, want at most %d", n, most)
		}
		flood.Close()
		<-stopped
	})
}

func TestLargeFramesTakeTurnsInTheReserve(t *testing.T) {
	h := openHouse(t, 1, 2, func(c *Config) { c.Memory.Value = 5 << 20 }) // a reserve for two
	var clients []net.Conn
	for seq := range 10 {
		c := h.dial(t)
		b := toyRequest(seq, 1<<20, 8)
		go c.Write(b[:len(b)-1])
		clients = append(clients, c)
	}
	h.await(t, "connections waiting for memory", func(n int64) bool { return n == 8 })
	if s := h.Reserve(); s.Taken != 2<<20 || s.Taken > s.Limit {
		t.Errorf("%+v; want two frames of 1 MiB", s)
	}
	bystander := h.dial(t)
	send(t, bystander, toyRequest(1, 100, 100))
	expect(t, bystander, toyReply(1, 100))
	var all sync.WaitGroup
	for seq, c := range clients {
		all.Go(func() {
			c.Write([]byte{0})
			expect(t, c, toyReply(seq, 8))
		})
	}
	all.Wait()
}

func TestSlowPeersAreClosed(t *testing.T) {
	brief := func(c *Config) { c.FrameTimeout, c.WriteTimeout = 50*time.Millisecond, 50*time.Millisecond }
	h := openHouse(t, 1, 2, brief)
	half := h.dial(t)
	send(t, half, toyRequest(0, 100, 8)[:50])
	if _, err := half.Read(make([]byte, 1)); err == nil {
		t.Error("half a frame was answered")
	}
	h.await(t, "connections closed: frame timeout", func(n int64) bool { return n == 1 })
	greedy := h.dial(t)
	go greedy.Write(bytes.Repeat(toyRequest(0, 12, 100_000), 1000))
	h.await(t, "connections closed: write timeout", func(n int64) bool { return n == 1 })
	modest := h.dial(t)
	send(t, modest, toyRequest(0, 12, 1_000_000)) // our kernel takes all of it, the client's a part
	h.await(t, "connections closed: write timeout", func(n int64) bool { return n == 2 })
	idle := h.dial(t)
	send(t, idle, toyRequest(7, 12, 8))
	expect(t, idle, toyReply(7, 8))
	if !h.reported("frame timeout") || !h.reported("write timeout") {
		t.Error("a close by timeout was not reported")
	}
}

func TestTheLimitOfConnections(t *testing.T) {
	h := openHouse(t, 1, 2, func(c *Config) { c.MaxConns.Value = 3 })
	var speaking []net.Conn
	for seq := range 2 {
		c := h.dial(t)
		send(t, c, toyRequest(seq, 12, 8))
		expect(t, c, toyReply(seq, 8))
		speaking = append(speaking, c)
	}
	silent := h.dial(t)
	h.await(t, "connections", func(n int64) bool { return n == 3 })
	last := h.dial(t) // the silent one makes room
	send(t, last, toyRequest(2, 12, 8))
	expect(t, last, toyReply(2, 8))
	if _, err := silent.Read(make([]byte, 1)); err == nil {
		t.Error("the silent connection still stands")
	}
	tooMany := h.dial(t)
	if _, err := tooMany.Read(make([]byte, 1)); err == nil {
		t.Error("a connection over the limit was served")
	}
	if !h.reported("--max-conns") {
		t.Error("the refusal was not reported")
	}
	send(t, speaking[0], toyRequest(5, 12, 8))
	expect(t, speaking[0], toyReply(5, 8))
}

// At the limit the connection that is silent longest makes room, whichever loop has it.
func TestTheOldestSilentConnectionMakesRoom(t *testing.T) {
	const most = 8
	for _, loops := range []int{1, 3} {
		h := openHouse(t, loops, 2, func(c *Config) { c.MaxConns.Value = most })
		var silent []*net.TCPConn
		enter := func() {
			t.Helper()
			silent = append(silent, h.dial(t))
			h.await(t, "connections accepted", func(n int64) bool { return n >= int64(len(silent)) })
		}
		for range most {
			enter()
		}
		for i := range 5 * most {
			enter()
			if n, err := silent[i].Read(make([]byte, 1)); n > 0 || err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
				t.Fatalf("%d loops: %v read from the oldest connection, %d", loops, err, i)
			}
			h.await(t, "connections", func(n int64) bool { return n == most })
		}
		for i, c := range silent[len(silent)-most:] { // the youngest are all there
			send(t, c, toyRequest(i, 12, 8))
			expect(t, c, toyReply(i, 8))
		}
		if _, err := h.dial(t).Read(make([]byte, 1)); err == nil {
			t.Error("a connection over the limit was served")
		}
		if n, refused := h.stat("connections closed: made room"), h.stat("connections refused at the limit"); n != 5*most || refused != 1 {
			t.Errorf("%d loops: %d made room, %d were refused; want %d and 1", loops, n, refused, 5*most)
		}
	}
}

func TestConnectionsOfOneAddress(t *testing.T) {
	h := openHouse(t, 1, 2, func(c *Config) {
		c.MaxConnsPerAddress = frame.Limit{Flag: "--max-conns-per-address", Value: 1}
	})
	first := h.dial(t)
	send(t, first, toyRequest(0, 12, 8))
	expect(t, first, toyReply(0, 8))
	if _, err := h.dial(t).Read(make([]byte, 1)); err == nil {
		t.Error("a second connection was served")
	}
	first.Close()
	h.await(t, "connections", func(n int64) bool { return n == 0 })
	again := h.dial(t)
	send(t, again, toyRequest(1, 12, 8))
	expect(t, again, toyReply(1, 8))
}

func TestDrainAnswersWhatWasReceived(t *testing.T) {
	kinds(t, func(t *testing.T, h *house) {
		c := h.dial(t)
		var sent []byte
		for seq := range 20_000 {
			sent = append(sent, toyRequest(seq, 100, 100)...)
		}
		go c.Write(sent)
		expect(t, c, toyReply(0, 100))
		done := make(chan error, 1)
		go func() {
			ctx, cancel := context.WithTimeout(context.Background(), patience)
			defer cancel()
			done <- h.Drain(ctx)
		}()
		for seq := 1; ; seq++ {
			got := make([]byte, 100)
			_, err := io.ReadFull(c, got)
			if err == io.EOF {
				break
			}
			if err != nil {
				t.Fatalf("reply %d: %v; want it whole, or the end of stream", seq, err)
			}
			if !bytes.Equal(got, toyReply(seq, 100)) {
				t.Fatalf("reply %d is another one", seq)
			}
		}
		c.Close()
		if err := <-done; err != nil {
			t.Error(err)
		}
		if _, err := net.Dial("tcp", h.addr); err == nil {
			t.Error("a drained group still listens")
		}
	})
}

func TestDrainEndsWithItsContext(t *testing.T) {
	h := openHouse(t, 1, 0, nil)
	c := h.dial(t)
	send(t, c, bytes.Repeat(toyRequest(0, 12, 100_000), 1000))
	h.await(t, "pauses by window", func(n int64) bool { return n > 0 })
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := h.Drain(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("drain says %v", err)
	}
}

func TestASecondGroupCannotListen(t *testing.T) {
	h := openHouse(t, 2, 1, nil)
	other, err := New(h.cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	if _, err := other.Listen(h.addr, 0); !errors.Is(err, unix.EADDRINUSE) || !strings.Contains(err.Error(), h.addr) {
		t.Errorf("listen says %v; want the address and that it is in use", err)
	}
}

func TestAcceptedSocketsInheritTheirOptions(t *testing.T) {
	h := openHouse(t, 1, 1, func(c *Config) { c.SocketBuffer = 64 << 10 })
	c := h.dial(t)
	send(t, c, toyRequest(0, 12, 8))
	expect(t, c, toyReply(0, 8))
	fd := acceptedFrom(t, c.LocalAddr())
	for _, o := range []struct {
		name       string
		level, opt int
		want       int
	}{
		{"TCP_NODELAY", unix.IPPROTO_TCP, unix.TCP_NODELAY, 1},
		{"SO_KEEPALIVE", unix.SOL_SOCKET, unix.SO_KEEPALIVE, 1},
		{"TCP_KEEPIDLE", unix.IPPROTO_TCP, unix.TCP_KEEPIDLE, 60},
		{"SO_RCVBUF", unix.SOL_SOCKET, unix.SO_RCVBUF, 2 * 64 << 10}, // the kernel doubles it: socket(7)
	} {
		if got, err := unix.GetsockoptInt(fd, o.level, o.opt); err != nil || got != o.want {
			t.Errorf("%s is %d, error %v; want %d", o.name, got, err, o.want)
		}
	}
}

// acceptedFrom finds this process's descriptor at the other end of a connection.
func acceptedFrom(t *testing.T, client net.Addr) int {
	t.Helper()
	for fd := range 4096 {
		if sa, err := unix.Getpeername(fd); err == nil && addrPort(sa).String() == client.String() {
			return fd
		}
	}
	t.Fatalf("no descriptor is connected to %v", client)
	return -1
}

func TestCheckNamesTheFlag(t *testing.T) {
	good := Config{
		Loops: 2, Protocols: []*frame.Protocol{toyProtocol()},
		ConnMemory: frame.Limit{Flag: "--conn-memory", Value: MinConnMemory},
		Memory:     frame.Limit{Flag: "--memory", Value: 8 << 20},
	}
	if err := good.Check(); err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(*Config){
		"--conn-memory 131071": func(c *Config) { c.ConnMemory.Value-- },
		"--memory 4194303":     func(c *Config) { c.Memory.Value = 4<<20 - 1 },
		"--max-frame 1048576":  func(c *Config) { c.Loops, c.Memory.Value = 1, 2<<20 },
		"--ring-slots 2":       func(c *Config) { c.Loops, c.Ring = 4, frame.NewRing[*frame.Burst](2) },
	} {
		cfg := good
		change(&cfg)
		if err := cfg.Check(); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("check says %v; want it to name %s", err, name)
		}
	}
}
