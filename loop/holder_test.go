package loop

import (
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"darboux/frame"
)

// uploads is a loop over the fake kernel whose clients send large frames.
type uploads struct {
	t       *testing.T
	loop    *Loop
	kernel  *fakeKernel
	reports []string
}

// newUploads makes one whose reserve has room for so many of the longest frames, and which
// works its bursts itself unless there is a ring.
func newUploads(t *testing.T, frames int, ring *frame.Ring[*frame.Burst]) *uploads {
	t.Helper()
	u := &uploads{t: t}
	cfg := &Config{
		Loops: 1, Ring: ring, Protocols: []*frame.Protocol{toyProtocol()}, FrameTimeout: 10 * time.Second,
		Memory:     frame.Limit{Flag: "--memory", Value: 2 * frames * (toyMax + frame.HeaderLen)},
		ConnMemory: frame.Limit{Flag: "--conn-memory", Value: MinConnMemory},
		MaxConns:   frame.Limit{Flag: "--max-conns", Value: 1000},
		Report:     func(kind, _, text string) { u.reports = append(u.reports, kind+": "+text) },
	}
	cfg.Protocols[0].NewWorker = func() frame.Worker { return &toyWorker{stream: func(*frame.Burst, *toyStream) {}} }
	bell, err := newBell()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { bell.close() })
	poller := &fakePoller{interests: map[int]interest{}}
	u.kernel = &fakeKernel{rnd: rand.New(rand.NewPCG(1, 1)), poller: poller, now: time.Unix(1e9, 0)}
	u.loop = newLoop(cfg, newShared(cfg), u.kernel, poller, bell)
	u.loop.ticker = -1
	u.loop.listeners = []*listener{{fd: listenerFD}}
	u.loop.retryAccept()
	return u
}

// connect adds a client that takes so many bytes of replies.
func (u *uploads) connect(room int) *fakeSocket {
	s := &fakeSocket{room: room}
	u.kernel.backlog = append(u.kernel.backlog, s)
	u.loop.onEvent(listenerFD, evReadable)
	return s
}

// send lets a client send, and the loop do all that it can then.
func (u *uploads) send(s *fakeSocket, b []byte) {
	u.t.Helper()
	s.toServer = append(s.toServer, b...)
	u.settle()
}

func (u *uploads) settle() {
	u.t.Helper()
	for n, again := 0, true; again; n++ {
		if n > 10_000 {
			u.t.Fatal("the loop finds no rest")
		}
		if again = u.loop.bell.rung.Load(); again {
			u.loop.onEvent(u.loop.bell.fd, evReadable)
		}
		for _, s := range u.kernel.sockets {
			if s != nil && u.kernel.poller.due(s) != 0 {
				u.loop.onEvent(s.fd, u.kernel.poller.due(s))
				again = true
			}
		}
	}
}

// pass lets a tick pass.
func (u *uploads) pass() {
	u.kernel.now = u.kernel.now.Add(tickEvery)
	u.loop.onTick(u.kernel.now)
	u.settle()
}

func (u *uploads) reserve() frame.ReserveStats { return u.loop.shared.reserve.Stats() }

// upload is a frame on its way.
type upload struct {
	*fakeSocket
	left []byte
}

func (u *uploads) begin(first int) *upload {
	u.t.Helper()
	b := toyRequest(1, toyMax, 8)
	up := &upload{u.connect(1 << 20), b[first:]}
	u.send(up.fakeSocket, b[:first])
	return up
}

func (u *uploads) goOn(up *upload, n int) {
	u.t.Helper()
	n = min(n, len(up.left))
	u.send(up.fakeSocket, up.left[:n])
	up.left = up.left[n:]
}

// Who sends a large frame slowly, though not below the least rate, keeps its room of the
// reserve as long as nobody else wants it; then no more are closed than it takes, and who
// sends fast enough is not among them.
func TestSlowFramesGiveWay(t *testing.T) {
	const slow, fast = 8 << 10, 300 << 10 // bytes a second
	for _, row := range []struct {
		name          string
		rates         []int // of those who hold the reserve
		waiting       int
		closed        int
		answersWithin time.Duration
	}{
		{"nobody waits", []int{slow, slow}, 0, 0, 0},
		{"one waits", []int{slow, slow, slow}, 1, 1, 3 * time.Second},
		{"as many wait", []int{slow, slow, slow}, 3, 3, 3 * time.Second},
		{"one is dead", []int{0}, 1, 1, 3 * time.Second},
		{"they are fast enough", []int{fast, fast}, 1, 0, 5 * time.Second},
		{"one is fast enough", []int{fast, slow, fast}, 1, 1, 3 * time.Second},
	} {
		t.Run(row.name, func(t *testing.T) {
			u := newUploads(t, len(row.rates), nil)
			var holders, waiting []*upload
			for range row.rates {
				holders = append(holders, u.begin(100_000))
			}
			if taken := u.reserve().Taken; taken != len(row.rates)*toyMax {
				t.Fatalf("%d bytes of the reserve are taken; want all that have room", taken)
			}
			for range row.waiting {
				waiting = append(waiting, u.begin(100_000))
			}
			begin := u.kernel.now
			for u.kernel.now.Sub(begin) < 30*time.Second {
				u.pass()
				for i, h := range holders {
					u.goOn(h, row.rates[i]/int(time.Second/tickEvery))
				}
				for _, w := range waiting {
					u.goOn(w, toyMax)
					if took := u.kernel.now.Sub(begin); len(w.toClient) == 0 && took > row.answersWithin {
						t.Fatalf("a frame still waits after %v", took)
					}
				}
				if row.rates[0] == 0 && len(waiting[0].toClient) > 0 {
					break // soon the least rate closes it
				}
			}
			closed := 0
			for i, h := range holders {
				if h.closed {
					closed++
				}
				if h.closed && row.rates[i] == fast {
					t.Error("one that was fast enough is closed")
				}
			}
			if closed != row.closed || len(u.reports) != closed {
				t.Errorf("%d are closed; want %d. Reported: %q", closed, row.closed, u.reports)
			}
			for _, text := range u.reports {
				for _, part := range []string{"262144 bytes a second", "2s", "--frame-timeout", "--memory 2097"} {
					if row.closed == 1 && len(row.rates) == 1 && !strings.Contains(text, part) {
						t.Errorf("%q does not name %s", text, part)
					}
				}
			}
		})
	}
}

// Who reads a reply slowly, for which room of the reserve is held, gives way likewise.
func TestSlowReadersGiveWay(t *testing.T) {
	const reply, slow, fast = 1 << 20, 8 << 10, 300 << 10
	for _, row := range []struct {
		name   string
		rate   int
		waits  bool
		closed bool
	}{
		{"slow", slow, true, true},
		{"slow, and nobody waits", slow, false, false},
		{"fast enough", fast, true, false},
	} {
		t.Run(row.name, func(t *testing.T) {
			u := newUploads(t, 1, nil)
			u.loop.workers[0].(*toyWorker).stream = func(b *frame.Burst, s *toyStream) {
				if s.room, s.extra = b.Extra.Stats().Limit, b.Extra; !s.extra.TryTake(s.room) {
					t.Error("the reserve is not free")
				}
			}
			reader := u.connect(20_000)
			u.send(reader, toyRequest(1, 12, reply))
			var waiting *upload
			if row.waits {
				waiting = u.begin(toyMax)
			}
			got := 0
			for begin := u.kernel.now; u.kernel.now.Sub(begin) < 8*time.Second; {
				u.pass()
				for n := row.rate / int(time.Second/tickEvery); n > 0 && !reader.closed; n -= 10_000 {
					took := min(n, 10_000, len(reader.toClient))
					reader.receiveBytes(took)
					got += took
					u.settle()
				}
			}
			if reader.closed != row.closed || len(u.reports) > 0 != row.closed {
				t.Errorf("closed %v; want %v. Reported: %q", reader.closed, row.closed, u.reports)
			}
			if row.rate == fast && got != reply {
				t.Errorf("%d bytes came of %d", got, reply)
			}
			if row.waits && len(waiting.toClient) == 0 {
				t.Error("who waits is not answered")
			}
		})
	}
}

// A loop that was held up doesn't take that for its peers' fault.
func TestAHeldUpLoopBlamesNobody(t *testing.T) {
	u := newUploads(t, 1, nil)
	holder, waiting := u.begin(100_000), u.begin(100_000)
	for range 5 {
		u.pass()
	}
	u.kernel.now = u.kernel.now.Add(6 * time.Second)
	u.loop.onTick(u.kernel.now)
	if holder.closed {
		t.Fatal("it is closed at once")
	}
	u.goOn(holder, toyMax)
	u.goOn(waiting, toyMax)
	if len(holder.toClient) == 0 || len(waiting.toClient) == 0 {
		t.Error("there are no answers")
	}
}

// It costs nothing of the reserve to announce a large frame, and what comes of one takes
// memory as it comes.
func TestAnnouncedFramesTakeNoReserve(t *testing.T) {
	u := newUploads(t, 2, nil)
	for range 600 {
		u.goOn(u.begin(frame.HeaderLen), 1000)
	}
	if r := u.reserve(); r.Taken != 0 || r.Waiting != 0 {
		t.Errorf("600 announced frames: %+v; want nothing taken and nobody waiting", r)
	}
	up := u.begin(toyMax)
	if len(up.toClient) == 0 {
		t.Error("a whole frame is not answered beside them")
	}
}

func TestBuffersInTheReserveGrow(t *testing.T) {
	u := newUploads(t, 1, nil)
	up := u.begin(firstPart)
	for len(up.toClient) == 0 {
		u.goOn(up, 10_000)
		c := u.loop.conn(up.fd)
		if got := len(c.unread()); c.reserved && (cap(c.in) > 2*Growth*got || cap(c.in) > c.claim.Bytes) {
			t.Fatalf("a buffer of %d bytes for %d that came of %d", cap(c.in), got, c.claim.Bytes)
		}
		if r := u.reserve(); u.loop.conn(up.fd).reserved && r.Taken != toyMax {
			t.Fatalf("%d bytes are taken; want the whole frame's %d", r.Taken, toyMax)
		}
		if held := u.loop.tally.get(memoryHeld); u.loop.conn(up.fd).reserved && held != 0 {
			t.Fatalf("%d bytes are counted twice", held)
		}
	}
	if r := u.reserve(); r.Taken != 0 {
		t.Errorf("%d bytes stay taken", r.Taken)
	}
}

// A reply that its peer doesn't read holds no room of the reserve: neither for the large
// frame that it answers, nor for one that comes behind it while it is made.
func TestUnreadRepliesHoldNoReserve(t *testing.T) {
	const reply = 900_000
	large := toyRequest(2, toyMax, reply)
	for _, row := range []struct {
		name   string
		first  []byte
		second []byte // sent while the first is worked
		want   int    // bytes of replies in the end
	}{
		{"its own", large[:toyMax-1], large[toyMax-1:], reply},
		{"in front", append(toyRequest(1, 12, reply), large[:100]...), large[100 : toyMax/2], reply},
	} {
		t.Run(row.name, func(t *testing.T) {
			ring := frame.NewRing[*frame.Burst](2)
			u := newUploads(t, 1, ring)
			work := func() {
				w := &toyWorker{stream: func(*frame.Burst, *toyStream) {}}
				for b, ok := ring.Pop(); ok; b, ok = ring.Pop() {
					b.Status = w.Work(b)
					u.loop.GiveBack(b)
					u.settle()
				}
			}
			s := u.connect(1000)
			u.send(s, row.first)
			u.send(s, row.second)
			work()
			if len(s.toClient) == 0 {
				t.Fatal("nothing came of the reply")
			}
			if r := u.reserve(); r.Taken != 0 {
				t.Errorf("%+v", r)
			}
			up := u.begin(toyMax)
			if work(); len(up.toClient) == 0 {
				t.Error("another one's frame is not answered")
			}
			s.room = 1 << 20
			u.settle()
			work()
			if got := len(s.toClient); got != row.want {
				t.Errorf("%d bytes of replies came; want %d", got, row.want)
			}
			if held := u.loop.tally.get(memoryHeld); row.name == "its own" && held != 0 {
				t.Errorf("%d bytes are held in the end", held)
			}
		})
	}
}
