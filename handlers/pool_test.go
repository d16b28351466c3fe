package handlers

import (
	"fmt"
	"sync"
	"testing"

	"darboux/frame"
)

// scriptWorker lets go of each burst with what its script says, and writes down the
// order.
type scriptWorker struct {
	mu     sync.Mutex
	order  []int
	yields map[int]int // how often a burst yields, by its Owner
	block  chan struct{}
}

func (w *scriptWorker) Work(b *frame.Burst) frame.Status {
	<-w.block
	w.mu.Lock()
	defer w.mu.Unlock()
	w.order = append(w.order, b.Owner)
	if w.yields[b.Owner] > 0 {
		w.yields[b.Owner]--
		return frame.Yielded
	}
	return frame.Done
}

// homeRing takes bursts back.
type homeRing struct {
	back    chan *frame.Burst
	awaited bool // others wait for what its bursts hold
}

func (h homeRing) GiveBack(b *frame.Burst) { h.back <- b }

func (h homeRing) Awaited() bool { return h.awaited }

func runPool(handlers int, w *scriptWorker, bursts int) (*Pool, homeRing) {
	ring := frame.NewRing[*frame.Burst](64)
	p := NewPool(handlers, ring, []*frame.Protocol{{NewWorker: func() frame.Worker { return w }}})
	home := homeRing{back: make(chan *frame.Burst, bursts)}
	for i := range bursts {
		ring.Push(&frame.Burst{Owner: i, Home: home})
	}
	return p, home
}

func TestAFreshBurstFirstAndOneYieldedAfterIt(t *testing.T) {
	w := &scriptWorker{yields: map[int]int{0: 3, 1: 3}, block: make(chan struct{})}
	p, home := runPool(1, w, 6)
	close(w.block)
	for range 6 {
		<-home.back
	}
	p.Close()
	want := []int{0, 0, 1, 0, 2, 1, 3, 0, 4, 1, 5, 1}
	if fmt.Sprint(w.order) != fmt.Sprint(want) {
		t.Errorf("worked in the order %v; want %v", w.order, want)
	}
}

// keptByScript is what is kept of a burst in the middle of a frame.
type keptByScript struct{}

func (keptByScript) Release() {}

// A burst that goes on in the middle of a reply, because its reader has taken what there
// was, is no fresh one: it has its turn among those that yielded.
func TestABurstThatGoesOnIsNotFresh(t *testing.T) {
	w := &scriptWorker{block: make(chan struct{})}
	close(w.block)
	ring := frame.NewRing[*frame.Burst](8)
	home := homeRing{back: make(chan *frame.Burst, 5)}
	for i, kept := range []frame.Kept{keptByScript{}, keptByScript{}, nil, nil, keptByScript{}} {
		ring.Push(&frame.Burst{Owner: i, Home: home, Kept: kept})
	}
	p := NewPool(1, ring, []*frame.Protocol{{NewWorker: func() frame.Worker { return w }}})
	for range 5 {
		<-home.back
	}
	p.Close()
	if got, want := fmt.Sprint(w.order), "[2 0 3 1 4]"; got != want {
		t.Errorf("worked in the order %v; want %v", got, want)
	}
}

// A burst that yields goes home at once if others wait for its slot.
func TestAYieldedBurstMakesRoom(t *testing.T) {
	w := &scriptWorker{yields: map[int]int{0: 3}, block: make(chan struct{})}
	close(w.block)
	ring := frame.NewRing[*frame.Burst](2)
	home := homeRing{back: make(chan *frame.Burst, 1), awaited: true}
	p := NewPool(1, ring, []*frame.Protocol{{NewWorker: func() frame.Worker { return w }}})
	var all []frame.Status
	for b := (&frame.Burst{Home: home}); len(all) < 4; {
		ring.Push(b)
		b = <-home.back
		all = append(all, b.Status)
	}
	p.Close()
	if got, want := fmt.Sprint(all), fmt.Sprint([]frame.Status{frame.Yielded, frame.Yielded, frame.Yielded, frame.Done}); got != want {
		t.Errorf("it came home with %v; want %v", got, want)
	}
}

func TestEveryBurstComesBackOnce(t *testing.T) {
	w := &scriptWorker{yields: map[int]int{}, block: make(chan struct{})}
	for i := range 50 {
		w.yields[i] = i % 4
	}
	p, home := runPool(4, w, 50)
	close(w.block)
	seen := map[int]int{}
	for range 50 {
		seen[(<-home.back).Owner]++
	}
	p.Close()
	if len(seen) != 50 || len(home.back) != 0 {
		t.Errorf("%d different bursts came back, %d twice; want 50, 0", len(seen), len(home.back))
	}
	if s := p.Stats(); s.Waiting != 0 || s.YieldedNow != 0 || s.Worked-s.Yields != 50 {
		t.Errorf("stats %+v", s)
	}
}
