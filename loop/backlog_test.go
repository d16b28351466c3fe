package loop

import (
	"math/rand/v2"
	"testing"
	"time"

	"darboux/frame"
)

// A connection whose backlog grew while it waited for a credit, and whose first burst is
// out then, has more room left in its buffer than is read in one call.
func TestABacklogLeavesMoreRoomThanOneRead(t *testing.T) {
	p := &fakePoller{interests: map[int]interest{}}
	k := &fakeKernel{poller: p, rnd: rand.New(rand.NewPCG(1, 1)), now: time.Unix(1e9, 0)}
	cfg := &Config{
		Loops: 1, Protocols: []*frame.Protocol{toyProtocol()}, Ring: frame.NewRing[*frame.Burst](2),
		ConnMemory: frame.Limit{Flag: "--conn-memory", Value: 256 << 10},
		Memory:     frame.Limit{Flag: "--memory", Value: 64 << 20},
		MaxConns:   frame.Limit{Flag: "--max-conns", Value: 10},
		Report:     func(kind, peer, text string) {},
	}
	bell, err := newBell()
	if err != nil {
		t.Fatal(err)
	}
	defer bell.close()
	l := newLoop(cfg, newShared(cfg), k, p, bell)
	l.ticker, l.listeners = -1, []*listener{{fd: listenerFD}}
	s := &fakeSocket{room: 1 << 20}
	k.backlog = append(k.backlog, s)
	l.onEvent(listenerFD, evReadable)

	l.credits = 0
	for sent := 0; sent < 190<<10; sent += 1024 {
		s.toServer = append(s.toServer, toyRequest(0, 1024, 8)...)
		l.onEvent(s.fd, evReadable)
	}
	l.returnCredit()
	c := l.first(forCredit)
	l.settle(c)
	if c.where != out || cap(c.in)-len(c.in) <= len(l.scratch) || l.ownRoom(c) >= leastRead {
		t.Fatalf("the case is another one: where %d, %d bytes left of the buffer, own room %d", c.where, cap(c.in)-len(c.in), l.ownRoom(c))
	}
	before := len(c.unread())
	s.toServer = append(s.toServer, make([]byte, 100_000)...)
	l.onEvent(s.fd, evReadable)
	if got := len(c.unread()) - before; got <= 0 || got > len(l.scratch) {
		t.Errorf("%d bytes were read", got)
	}
}
