package loop

import (
	"bytes"
	"flag"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"darboux/frame"
)

// swarmMax is the longest frame of a swarm: small, so that a small memory is short.
const swarmMax = 300 << 10

// swarm is one run of a loop over the fake kernel: clients, a handler and the clock
// take turns by chance.
type swarm struct {
	t       *testing.T
	rnd     *rand.Rand
	kernel  *fakeKernel
	poller  *fakePoller
	loop    *Loop
	ring    *frame.Ring[*frame.Burst]
	yielded []*frame.Burst
	waiting []*frame.Burst
	worker  *toyWorker
	clients []*swarmClient
	calm    bool // nothing goes wrong any more, and no event comes without a cause
}

// swarmClient sends requests and knows what it must get for them.
type swarmClient struct {
	*fakeSocket
	unsent []byte
	sizes  []int // of the replies to all requests
	stands bool  // it reads nothing before all is calm
	long   bool  // the last frame is over the limit: the last reply is the refusal
	cut    bool  // a reply of its was broken, or it was too slow: it may end there
}

func newSwarm(t *testing.T, seed uint64, onLoop bool) *swarm {
	toyKept.Store(0) // whatever one that failed has left
	rnd := rand.New(rand.NewPCG(seed, 1))
	troubled := rnd.IntN(3) > 0
	once := func(most int) int {
		if !troubled {
			return 0
		}
		return rnd.IntN(2) * (1 + rnd.IntN(most))
	}
	s := &swarm{t: t, rnd: rnd, worker: &toyWorker{slices: rnd.IntN(2) * rnd.IntN(3)}}
	s.worker.wait = func(b *frame.Burst) bool {
		if rnd.IntN(2) == 0 {
			return false
		}
		s.waiting = append(s.waiting, b)
		return true
	}
	if rnd.IntN(2) == 0 {
		s.worker.stream = func(*frame.Burst, *toyStream) {}
	}
	s.poller = &fakePoller{interests: map[int]interest{}}
	s.kernel = &fakeKernel{poller: s.poller, rnd: rnd, now: time.Unix(1e9, 0), odds: fakeOdds{
		shortRead: once(4), shortWrite: once(4), again: once(5), interrupted: once(5),
		reset: once(500), pipe: once(500), acceptFails: once(5),
	}}
	protocol := toyProtocol()
	protocol.MaxFrame.Value = swarmMax
	if protocol.Brief = rnd.IntN(2) == 0; protocol.Brief {
		s.worker.long = func() bool {
			s.kernel.now = s.kernel.now.Add(time.Duration(rnd.IntN(300)) * time.Microsecond) // that work takes
			return rnd.IntN(4) == 0
		}
	}
	protocol.NewWorker = func() frame.Worker { return s.worker }
	cfg := &Config{
		Loops: 1, Protocols: []*frame.Protocol{protocol},
		ConnMemory: frame.Limit{Flag: "--conn-memory", Value: MinConnMemory + rnd.IntN(500_000)},
		Memory:     frame.Limit{Flag: "--memory", Value: 2*swarmMax + rnd.IntN(1<<20)},
		MaxConns:   frame.Limit{Flag: "--max-conns", Value: 1000},
		Report:     func(kind, peer, text string) {},
	}
	if rnd.IntN(3) == 0 {
		cfg.FrameTimeout = 10 * time.Second
	}
	if rnd.IntN(4) == 0 {
		cfg.MaxConns.Value = 1 + rnd.IntN(20)
	}
	if !onLoop {
		s.ring = frame.NewRing[*frame.Burst](2 << rnd.IntN(4))
		cfg.Ring = s.ring
	}
	bell, err := newBell()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { bell.close() })
	s.loop = newLoop(cfg, newShared(cfg), s.kernel, s.poller, bell)
	s.loop.ticker = -1
	s.loop.listeners = []*listener{{fd: listenerFD}}
	s.loop.retryAccept()
	for range 1 + rnd.IntN(20) {
		s.addClient(rnd.IntN(4) == 0)
	}
	if rnd.IntN(4) == 0 { // a crowd that together holds more than there is
		for range 60 {
			s.addClient(true)
		}
	}
	return s
}

// addClient adds a client that may ask for anything, or one that asks for much in small
// pieces and stands still.
func (s *swarm) addClient(stands bool) {
	c := &swarmClient{fakeSocket: &fakeSocket{room: 1 + s.rnd.IntN(200_000)}, stands: stands}
	draw, requests := s.drawRequest, s.rnd.IntN(60)
	if stands {
		c.room = 1 + s.rnd.IntN(20_000)
		draw, requests = s.drawSmall, s.rnd.IntN(200)
	}
	for seq := range requests {
		size, reply := draw()
		c.unsent = append(c.unsent, toyRequest(seq, size, reply)...)
		c.sizes = append(c.sizes, max(reply, 8))
	}
	if s.rnd.IntN(4) == 0 {
		c.long = true
		c.unsent = append(c.unsent, "\xff\xff\xff\xff"...)
		c.unsent = append(c.unsent, make([]byte, s.rnd.IntN(100_000))...)
	}
	s.clients = append(s.clients, c)
	s.kernel.backlog = append(s.kernel.backlog, c.fakeSocket)
}

// drawSmall draws the sizes of a small request and its small reply.
func (s *swarm) drawSmall() (size, reply int) { return 12 + s.rnd.IntN(50), 8 + s.rnd.IntN(3000) }

// drawRequest draws the sizes of a request and its reply, some of them large.
func (s *swarm) drawRequest() (size, reply int) {
	size, reply = 12+s.rnd.IntN(300), 8+s.rnd.IntN(50)
	switch s.rnd.IntN(30) {
	case 0:
		size = s.rnd.IntN(swarmMax)
	case 1:
		reply = s.rnd.IntN(100_000)
	case 2:
		size = s.rnd.IntN(200_000)
	}
	return size, reply
}

// step lets one of all that can happen happen.
func (s *swarm) step() {
	switch s.rnd.IntN(8) {
	case 0, 1:
		s.clientActs(s.clients[s.rnd.IntN(len(s.clients))])
	case 2:
		s.handle()
	case 3:
		if s.loop.bell.rung.Load() {
			s.loop.onEvent(s.loop.bell.fd, evReadable)
		}
	case 4:
		s.accept()
	case 5:
		if !s.calm {
			s.stale()
		}
	default:
		s.deliver()
	}
	if !s.calm && s.rnd.IntN(200) == 0 && len(s.clients) < 100 {
		s.addClient(s.rnd.IntN(4) == 0)
	}
	if !s.calm && s.rnd.IntN(100) == 0 {
		s.breakReply()
	}
	if s.rnd.IntN(50) == 0 {
		s.tick()
	}
}

// tick lets a tick pass, in which those may be closed that are too slow.
func (s *swarm) tick() {
	var open []*swarmClient
	for _, c := range s.clients {
		if !c.closed {
			open = append(open, c)
		}
	}
	tooSlow := func() int {
		return s.loop.tally.get(closedFirst+stat(slowFrame)) + s.loop.tally.get(closedFirst+stat(slowHolder))
	}
	before := tooSlow()
	s.kernel.now = s.kernel.now.Add(tickEvery)
	s.loop.onTick(s.kernel.now)
	for _, c := range open {
		if c.closed && tooSlow() > before {
			c.cut = true
		}
	}
}

// inLine lets something happen in which nobody may take a credit in front of those who wait
// for one longest, and none may lie about while somebody waits.
func (s *swarm) inLine(happens func()) {
	fresh, pieces := &s.loop.lines[forCredit], &s.loop.lines[forPiece]
	firstFresh, firstPiece, pushed := fresh.Front(), pieces.Front(), s.loop.tally.get(burstsPushed)
	happens()
	waiting := fresh.Len() + pieces.Len()
	if (firstFresh != nil || firstPiece != nil) && fresh.Front() == firstFresh && pieces.Front() == firstPiece && s.loop.tally.get(burstsPushed) > pushed {
		s.t.Fatalf("a credit was taken past %d connections in line", waiting)
	}
	if s.loop.credits > 0 && waiting > 0 {
		s.t.Fatalf("%d connections wait for a credit, and there are %d", waiting, s.loop.credits)
	}
}

// breakReply breaks a reply under way, wherever its burst is. If it waits at its loop for
// its reader, the next tick must close the connection.
func (s *swarm) breakReply() {
	for _, c := range s.clients {
		lc := s.loop.conn(c.fd)
		if c.fd == 0 || c.closed || lc == nil || lc.burst == nil || s.rnd.IntN(3) > 0 {
			continue
		}
		st, ok := lc.burst.Kept.(*toyStream) // all is on one goroutine here: any burst may be looked at
		if !ok {
			continue
		}
		st.broken.Store(true)
		c.cut = true
		if lc.where != blocked || lc.unsent == 0 {
			return // the worker comes upon it by itself
		}
		before := s.loop.tally.get(closedFirst + stat(streamMemory))
		s.tick()
		n := s.loop.tally.get(closedFirst + stat(streamMemory))
		if goesOn := lc.state != closed && lc.where != blocked; !goesOn && (!c.closed || n == before && !c.isReset) {
			s.t.Fatalf("a connection whose reply is broken outlives a tick (%v), or is not counted (%d, %d): %s", !c.closed, before, n, s.describeOne(c))
		}
		return
	}
}

func (s *swarm) clientActs(c *swarmClient) {
	switch s.rnd.IntN(3) {
	case 0:
		n := min(len(c.unsent), 1+s.rnd.IntN(50_000))
		if c.closed {
			n = len(c.unsent) // into the void
		} else {
			c.toServer = append(c.toServer, c.unsent[:n]...)
		}
		c.unsent = c.unsent[n:]
		if len(c.unsent) == 0 && s.rnd.IntN(3) == 0 {
			c.eof = true
		}
	case 1:
		if s.calm || !c.stands {
			c.receive(1 + s.rnd.IntN(100_000))
		}
		c.noMemory = !s.calm && s.rnd.IntN(4) == 0
	case 2:
		if !s.calm && s.rnd.IntN(200) == 0 {
			c.isReset, c.toServer, c.toClient = true, nil, nil
		}
	}
}

// receive reads what the server wrote, and then its end of stream.
func (c *swarmClient) receive(n int) {
	n = min(n, len(c.toClient))
	c.received = append(c.received, c.toClient[:n]...)
	c.toClient = c.toClient[n:]
	if len(c.toClient) == 0 && (c.shut || c.closed) {
		c.ended = true
	}
}

// TakeUp takes up a burst that was waiting, as a pool does.
func (s *swarm) TakeUp(b *frame.Burst) { s.yielded = append(s.yielded, b) }

// handle works one burst, fresh or yielded, or lets one go on that was waiting.
func (s *swarm) handle() {
	if n := len(s.waiting); n > 0 && s.rnd.IntN(2) == 0 {
		b := s.waiting[n-1]
		s.waiting = s.waiting[:n-1]
		b.Resume()
	}
	if s.ring == nil {
		return
	}
	b, ok := s.ring.Pop()
	if !ok || s.rnd.IntN(2) == 0 && len(s.yielded) > 0 {
		if ok {
			s.yielded = append(s.yielded, b)
		}
		if len(s.yielded) == 0 {
			return
		}
		i := s.rnd.IntN(len(s.yielded))
		b = s.yielded[i]
		s.yielded = append(s.yielded[:i], s.yielded[i+1:]...)
	}
	b.Taker = s
	switch status := s.worker.Work(b); {
	case status == frame.Waiting:
	case status == frame.Yielded && !s.loop.Awaited():
		s.yielded = append(s.yielded, b)
	default:
		b.Status = status
		s.loop.GiveBack(b)
	}
}

func (s *swarm) accept() {
	if s.poller.interests[listenerFD] == read {
		s.loop.onEvent(listenerFD, evReadable)
	}
}

// stale delivers an event that nothing stands behind.
func (s *swarm) stale() {
	s.loop.onEvent(20+s.rnd.IntN(40), events(1+s.rnd.IntN(7)))
}

// deliver delivers a real event, if one is due.
func (s *swarm) deliver() {
	c := s.clients[s.rnd.IntN(len(s.clients))]
	if c.fd == 0 || c.closed {
		return
	}
	if ev := s.poller.due(c.fakeSocket); ev != 0 {
		before := s.describeOne(c)
		s.loop.onEvent(c.fd, ev)
		if s.kernel.odds == (fakeOdds{}) && !c.closed && s.describeOne(c) == before && s.poller.due(c.fakeSocket) == ev {
			s.t.Fatalf("an event without effect would come for ever: %s", before)
		}
	}
}

// settled reports whether every client has all it can get.
func (s *swarm) settled() bool {
	for _, c := range s.clients {
		if !c.ended && !c.isReset {
			return false
		}
	}
	return true
}

func (s *swarm) run() {
	for range 3000 + 200*len(s.clients) {
		s.inLine(s.step)
		s.checkBounds()
	}
	s.calm, s.kernel.odds = true, fakeOdds{} // so that all can end, by itself
	for _, c := range s.clients {
		c.room = 1 << 30
	}
	for n := 0; !s.settled(); n++ {
		if n > 3_000_000 {
			s.t.Fatalf("work is left standing: %s", s.describe())
		}
		s.inLine(s.step)
		if n%100 == 99 {
			for _, c := range s.clients {
				c.receive(1 << 30)
				c.eof = c.eof || len(c.unsent) == 0
			}
		}
	}
}

func (s *swarm) describe() string {
	var b bytes.Buffer
	for i, c := range s.clients {
		if !c.ended && !c.isReset {
			fmt.Fprintf(&b, "client %d: %s; ", i, s.describeOne(c))
		}
	}
	return b.String()
}

func (s *swarm) describeOne(c *swarmClient) string {
	text := fmt.Sprintf("fd %d: %d to send, %d to read, got %d bytes", c.fd, len(c.unsent), len(c.toServer), len(c.received))
	if lc := s.loop.conn(c.fd); lc != nil {
		text += fmt.Sprintf(", state %d paused %b interest %d where %d held %d unsent %d unread %d need %d",
			lc.state, lc.paused, lc.interest, lc.where, lc.held, lc.unsent, len(lc.unread()), lc.need)
	}
	return text
}

// replies counts the whole replies that the client got. They must be those to its
// requests in order; one that found no room in the reserve is short.
func (c *swarmClient) replies() (int, error) {
	rest := c.received
	for n := 0; ; n++ {
		cut, _ := frame.CutLengthPrefixed(rest, frame.Limit{Value: swarmMax}, 0, false, nil)
		if c.long && n == len(c.sizes) && bytes.HasPrefix(rest, []byte(refusalText)) {
			return n + 1, nil
		}
		if cut.Frames == 0 {
			if len(rest) > 0 && !c.isReset && !c.cut {
				return n, fmt.Errorf("%d bytes of a reply without its end", len(rest))
			}
			return n, nil
		}
		if n >= len(c.sizes) {
			return n, fmt.Errorf("more replies than requests")
		}
		if r := rest[:cut.Bytes]; !bytes.Equal(r, toyReply(n, c.sizes[n])) && !bytes.Equal(r, toyReply(n, 8)) {
			return n, fmt.Errorf("reply %d is another one, of %d bytes", n, len(r))
		}
		rest = rest[cut.Bytes:]
	}
}

func (s *swarm) check() {
	turnedAway := s.loop.tally.get(acceptRefused) + s.loop.tally.get(closedFirst+stat(madeRoom))
	for i, c := range s.clients {
		got, err := c.replies()
		if err != nil {
			s.t.Fatalf("client %d: %v", i, err)
		}
		if c.long {
			got-- // the refusal
		}
		if c.isReset || c.cut || got == len(c.sizes) {
			continue
		}
		if turnedAway--; len(c.received) > 0 || turnedAway < 0 {
			s.t.Fatalf("client %d was not reset and got %d of %d replies", i, got, len(c.sizes))
		}
	}
	s.settleBursts()
	l := s.loop
	g := Group{cfg: *l.cfg, shared: l.shared, loops: []*Loop{l}}
	if b := g.Ledger(); !b.Balanced() {
		s.t.Fatalf("the ledger is not balanced: %+v", b)
	}
	if n := l.tally.get(conns); n != 0 {
		s.t.Fatalf("%d connections are left", n)
	}
	if n := l.tally.get(readsPaused); n != 0 {
		s.t.Fatalf("%d reads of paused connections", n)
	}
	if n := toyKept.Load(); n != 0 {
		s.t.Fatalf("%d slices are kept of bursts that are over", n)
	}
	if l.promised != 0 {
		s.t.Fatalf("%d bytes are promised to nobody", l.promised)
	}
	for where := range lines {
		if n := l.lines[where].Len(); n != 0 {
			s.t.Fatalf("%d connections are left in line %d", n, where)
		}
	}
}

// refusalText begins the reply to a frame that is over the limit.
const refusalText = "frame of 4294967295 bytes"

// largestReply is the largest that clients ask for, and what a buffer for it may be
// larger.
const largestReply = 100_000 + frame.MaxSmallReply

// checkBounds holds the loop to its budgets, whatever the peers do.
func (s *swarm) checkBounds() {
	l := s.loop
	total, promised := 0, 0
	for _, c := range l.conns {
		if c == nil {
			continue
		}
		total += c.held
		promised += c.promised
		if c.claim != nil && c.busy() {
			s.t.Fatalf("a frame asks for the reserve with %d reply bytes and a burst %v in front of it", c.unsent, c.burst != nil)
		}
		if c.reserved && cap(c.in) > c.claim.Bytes {
			s.t.Fatalf("a frame holds %d bytes, of the reserve %d", cap(c.in), c.claim.Bytes)
		}
		if c.unsent > Window+largestReply {
			s.t.Fatalf("%d reply bytes wait for the kernel", c.unsent)
		}
		if most := l.cfg.ConnMemory.Value + Window + largestReply; c.held > most {
			s.t.Fatalf("a connection holds %d bytes; want at most %d", c.held, most)
		}
	}
	if held := l.tally.get(memoryHeld); total > held {
		s.t.Fatalf("the connections hold %d bytes, but %d are counted", total, held)
	}
	if promised != l.promised {
		s.t.Fatalf("the connections are promised %d bytes, but %d are counted", promised, l.promised)
	}
	open := l.tally.get(conns) + l.tally.get(burstsOut) // a burst may outlive its connection
	if held, most := l.tally.get(memoryHeld), l.cfg.share()+open*BeyondShare; held > most {
		s.t.Fatalf("%d bytes are held; want at most %d for %d connections", held, most, open)
	}
	if n := l.tally.get(conns); n > l.cfg.MaxConns.Value {
		s.t.Fatalf("%d connections; want at most %d", n, l.cfg.MaxConns.Value)
	}
	if r := l.shared.reserve.Stats(); r.Taken > r.Limit {
		s.t.Fatalf("%d bytes are taken of a reserve of %d", r.Taken, r.Limit)
	}
}

// settleBursts lets the bursts of closed connections come home.
func (s *swarm) settleBursts() {
	s.loop.onTick(s.kernel.now.Add(time.Hour))
	for n := 0; s.loop.tally.get(burstsOut) > 0 && n < 100_000; n++ {
		s.handle()
		s.loop.onEvent(s.loop.bell.fd, evReadable)
	}
	for _, c := range s.loop.conns { // those whose client has reset them unseen
		if c != nil {
			s.loop.close(c, stopped)
		}
	}
}

// seeds is how many swarms a test runs, each on loops with and without handlers.
var seeds = flag.Uint64("seeds", 25, "swarms to run")

// Whatever the kernel answers, every frame of a connection is answered once and in
// order, or the connection is closed; nothing is left over.
func TestSwarm(t *testing.T) {
	for seed := range *seeds {
		for _, onLoop := range []bool{false, true} {
			t.Run(fmt.Sprintf("seed=%d,onLoop=%v", seed, onLoop), func(t *testing.T) {
				s := newSwarm(t, seed, onLoop)
				s.run()
				s.check()
			})
		}
	}
}
