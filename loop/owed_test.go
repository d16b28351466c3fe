package loop

import (
	"math/rand/v2"
	"testing"
	"time"

	"darboux/frame"
)

// Who takes nothing of what our kernel holds for it is closed by the write timeout, as who
// takes nothing of what we hold. Who reads all in time is not, however much of the last is
// always on its way.
func TestRepliesWithTheKernel(t *testing.T) {
	const window = 10 * time.Second
	for _, row := range []struct {
		name   string
		first  int // bytes of a reply in the beginning
		each   int // bytes of a reply at each tick
		onWay  int // ticks for which a reply is not acknowledged
		acks   int // bytes of the first that are acknowledged at each tick
		lateAt time.Duration
	}{
		{"nothing is taken", 100_000, 0, 0, 0, window},
		{"it is taken too slowly", 10_000_000, 0, 0, 256, 13 * time.Second},
		{"it is taken fast enough", 4_000_000, 0, 0, 1500, 0},
		{"small replies to somebody far away", 0, 10, 4, 0, 0},
		{"none", 0, 0, 0, 0, 0},
	} {
		t.Run(row.name, func(t *testing.T) {
			l, kernel, socket := oneReader(t, window)
			c, start := l.conn(socket.fd), kernel.now
			reply := func(n int) {
				l.queue(c, frame.NewReply(func(dst []byte) []byte { return append(dst, make([]byte, n)...) }))
				l.settle(c)
			}
			reply(row.first)
			for !socket.closed && kernel.now.Sub(start) < 5*time.Minute {
				reply(row.each)
				if over := len(socket.toClient) - row.each*row.onWay; row.onWay > 0 && over > 0 {
					socket.receiveBytes(over)
				}
				socket.receiveBytes(min(row.acks, len(socket.toClient)))
				kernel.now = kernel.now.Add(tickEvery)
				l.onTick(kernel.now)
			}
			switch took := kernel.now.Sub(start); {
			case socket.closed != (row.lateAt > 0):
				t.Errorf("closed %v after %v", socket.closed, took)
			case socket.closed && (took < row.lateAt-time.Second || took > row.lateAt+2*time.Second):
				t.Errorf("closed after %v, want %v", took, row.lateAt)
			case !socket.closed && len(socket.toClient) == 0 && len(l.deadlines) != 0:
				t.Error("it is watched, though nothing is owed to it")
			}
		})
	}
}

// oneReader is a loop over the fake kernel with one connection, for which that holds all.
func oneReader(t *testing.T, writeTimeout time.Duration) (*Loop, *fakeKernel, *fakeSocket) {
	bell, err := newBell()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { bell.close() })
	cfg := &Config{
		Loops: 1, Protocols: []*frame.Protocol{toyProtocol()}, WriteTimeout: writeTimeout,
		Memory: frame.Limit{Value: 1 << 20}, ConnMemory: frame.Limit{Value: MinConnMemory}, MaxConns: frame.Limit{Value: 10},
		Report: func(kind, peer, text string) {},
	}
	socket, poller := &fakeSocket{room: 1 << 30}, &fakePoller{interests: map[int]interest{}}
	kernel := &fakeKernel{rnd: rand.New(rand.NewPCG(1, 1)), poller: poller, now: time.Unix(1e9, 0), backlog: []*fakeSocket{socket}}
	l := newLoop(cfg, newShared(cfg), kernel, poller, bell)
	l.ticker = -1
	l.listeners = []*listener{{fd: listenerFD}}
	l.retryAccept()
	l.onEvent(listenerFD, evReadable)
	return l, kernel, socket
}

// receiveBytes lets the client read so many bytes.
func (s *fakeSocket) receiveBytes(n int) { s.toClient = s.toClient[n:] }
