package handlers

import (
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"

	"google.golang.org/protobuf/proto"

	"darboux/frame"
	"darboux/handlers/index"
	"darboux/handlers/riemann/pb"
)

// scans is a pool of handlers on which connections repeat scans.
type scans struct {
	ring  *frame.Ring[*frame.Burst]
	pool  *Pool
	done  atomic.Int64 // scans
	ended atomic.Bool
	out   sync.WaitGroup // bursts of scans that are not over
}

// startScans makes it of workers made by b; gate stands before each turn, if it is not nil.
func startScans(b *bench, handlers, connections int, text []byte, gate func(*frame.Burst)) *scans {
	s := &scans{ring: frame.NewRing[*frame.Burst](64)}
	protocol := *b.Protocol()
	if gate != nil {
		ours := protocol.NewWorker
		protocol.NewWorker = func() frame.Worker { return gatedWorker{ours(), gate} }
	}
	for range connections {
		burst := newBurst(text)
		burst.Home = s
		s.out.Add(1)
		s.ring.Push(burst)
	}
	s.pool = NewPool(handlers, s.ring, []*frame.Protocol{&protocol})
	return s
}

// GiveBack is what a connection does that repeats its request.
func (s *scans) GiveBack(b *frame.Burst) {
	s.done.Add(1)
	if s.ended.Load() {
		s.out.Done()
		return
	}
	b.Next, b.Out = 0, b.Out[:0]
	s.ring.Push(b)
}

// Awaited says that nobody waits.
func (s *scans) Awaited() bool { return false }

// end lets the scans that are under way end, and the handlers.
func (s *scans) end() {
	s.ended.Store(true)
	s.out.Wait()
	s.pool.Close()
}

type gatedWorker struct {
	frame.Worker
	gate func(*frame.Burst)
}

func (w gatedWorker) Work(b *frame.Burst) frame.Status {
	w.gate(b)
	return w.Worker.Work(b)
}

// bystander is a connection with small requests.
type bystander struct{ back chan *frame.Burst }

func (h *bystander) GiveBack(b *frame.Burst) { h.back <- b }

func (h *bystander) Awaited() bool { return false }

// turn is a handler that has taken a burst and waits to be let go.
type turn struct {
	burst *frame.Burst
	fresh bool // the burst comes from the ring, and did not yield
	goOn  chan struct{}
}

// While 20 connections repeat scans of 200,000 entries on two handlers, a bystander's
// request waits for the slices running; for each burst in the ring before it for one slice
// of that and for one of a scan that yielded; and for the one of a scan that yielded that
// a handler owes which is at a fresh burst when the request comes. The handlers take their
// turns one by one here, in an order drawn, so that this is exact.
func TestABystanderAmongScans(t *testing.T) {
	const connections, handlers = 20, 2
	entries, requests := 200_000, 200
	if raceEnabled {
		entries, requests = 60_000, 30
	}
	x := index.New(index.Config{DefaultTTL: 60})
	defer x.Close()
	b := newBench(func(r *Riemann) { r.Store = x })
	for range entries / 1000 {
		b.ask(t, manyEvents(t, b, 1000))
	}
	taken := make(chan turn)
	var open atomic.Bool
	s := startScans(b, handlers, connections, encode(t, queryOf(`metric > 1 or description = "none"`)), func(burst *frame.Burst) {
		if !open.Load() {
			at := turn{burst, burst.Kept == nil, make(chan struct{})}
			taken <- at
			<-at.goOn
		}
	})
	defer s.end()
	var running []turn
	for range handlers {
		running = append(running, <-taken)
	}
	defer func() { // from here on nobody waits any more
		open.Store(true)
		for _, at := range running {
			close(at.goOn)
		}
	}()
	rnd := rand.New(rand.NewPCG(1, 2))
	next := func() turn { // lets one handler go on, whose next turn is returned
		i := rnd.IntN(len(running))
		close(running[i].goOn)
		running[i] = <-taken
		return running[i]
	}
	request := newBurst(encode(t, &pb.Msg{Events: []*pb.Event{{Host: proto.String("bystander")}}}))
	h := &bystander{back: make(chan *frame.Burst, 1)}
	most, total := 0, 0
	for range requests {
		for range rnd.IntN(20) {
			next()
		}
		bound := 2 * s.ring.Len()
		for _, at := range running {
			if at.fresh {
				bound++
			}
		}
		request.Next, request.Out, request.Home = 0, request.Out[:0], h
		s.ring.Push(request)
		waited := 0
		for next().burst != request {
			if waited++; waited > bound {
				t.Fatalf("%d turns were begun before its own; want at most %d", waited, bound)
			}
		}
		for len(h.back) == 0 { // its own turn
			next()
		}
		<-h.back
		most, total = max(most, waited), total+waited
	}
	t.Logf("%d requests waited for %d turns that began before theirs, at most %d; %d scans of %d slices were done", requests, total, most, s.done.Load(), entries/sliceEntries)
	if total == 0 || s.pool.Stats().Yields < s.done.Load()*int64(entries/sliceEntries-1) {
		t.Error("the scans were not in the way")
	}
	if got := replies(t, request.Out); len(got) != 1 || !got[0].GetOk() {
		t.Error("the bystander was not answered")
	}
}
