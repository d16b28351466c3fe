package frame

import (
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"pgregory.net/rapid"
)

// A ring answers as a bounded slice would.
func TestRingModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := NewRing[int](1 << rapid.IntRange(1, 4).Draw(t, "bits"))
		var model []int
		n := 0
		t.Repeat(map[string]func(*rapid.T){
			"push": func(t *rapid.T) {
				n++
				if ok := r.Push(n); ok != (len(model) < r.Cap()) {
					t.Fatalf("push says %v with %d of %d", ok, len(model), r.Cap())
				} else if ok {
					model = append(model, n)
				}
			},
			"pop": func(t *rapid.T) {
				v, ok := r.Pop()
				if ok != (len(model) > 0) {
					t.Fatalf("pop says %v with %d", ok, len(model))
				}
				if ok {
					if v != model[0] {
						t.Fatalf("popped %d; want %d", v, model[0])
					}
					model = model[1:]
				}
			},
			"": func(t *rapid.T) {
				if r.Len() != len(model) || r.Empty() != (len(model) == 0) {
					t.Fatalf("length %d, empty %v; want %d", r.Len(), r.Empty(), len(model))
				}
			},
		})
	})
}

// Every value comes out exactly once, those of one pusher in their order, with
// poppers that park.
func TestRingManyToMany(t *testing.T) {
	const pushers, poppers, each = 4, 3, 20_000
	r := NewRing[[2]int](8)
	var pushed, popped sync.WaitGroup
	for p := range pushers {
		pushed.Go(func() {
			for i := range each {
				for !r.Push([2]int{p, i}) {
					runtime.Gosched()
				}
			}
		})
	}
	var seen [pushers][each]atomic.Int32
	for range poppers {
		popped.Go(func() {
			last := [pushers]int{-1, -1, -1, -1}
			for {
				v, ok := r.Pop()
				if !ok {
					if !r.Park(r.Empty) {
						return
					}
					continue
				}
				if !r.Empty() {
					r.Wake()
				}
				if v[1] <= last[v[0]] {
					t.Errorf("pusher %d: %d came after %d", v[0], v[1], last[v[0]])
				}
				last[v[0]] = v[1]
				seen[v[0]][v[1]].Add(1)
			}
		})
	}
	pushed.Wait()
	r.Close()
	popped.Wait()
	for p := range seen {
		for i := range seen[p] {
			if n := seen[p][i].Load(); n != 1 {
				t.Fatalf("value %d of pusher %d came out %d times", i, p, n)
			}
		}
	}
}

// One push wakes one sleeper, and a value pushed just before the sleep is found.
func TestParkLosesNoWake(t *testing.T) {
	r := NewRing[int](2)
	back := NewRing[int](2)
	var both sync.WaitGroup
	const rounds = 50_000
	bounce := func(in, out *Ring[int], first bool) {
		if first {
			out.Push(0)
		}
		for range rounds {
			v, ok := in.Pop()
			for ; !ok; v, ok = in.Pop() {
				in.Park(in.Empty)
			}
			out.Push(v)
		}
	}
	both.Go(func() { bounce(r, back, false) })
	both.Go(func() { bounce(back, r, true) })
	both.Wait()
	if r.Len()+back.Len() != 1 {
		t.Errorf("%d values are left of one", r.Len()+back.Len())
	}
}

// A slot whose value is claimed and not yet freed makes a ring full for nobody: a push waits
// for its popper.
func TestPushWaitsForAPopperThatIsHeldUp(t *testing.T) {
	r := NewRing[int](2)
	r.Push(1)
	r.tail.Add(1) // a popper has claimed the first slot, and is held up
	r.Push(2)
	pushed := make(chan bool)
	go func() { pushed <- r.Push(3) }()
	select {
	case ok := <-pushed:
		t.Fatalf("push says %v while the popper is held up", ok)
	default:
	}
	r.slots[0].turn.Store(2) // it goes on
	if !<-pushed {
		t.Error("push says that the ring is full, with one value in two slots")
	}
	if r.Push(4) {
		t.Error("push says that there is room in a full ring")
	}
}

func TestRingSlots(t *testing.T) {
	for _, n := range []int{-1, 0, 1, 3, 1000, 2 * MaxSlots} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("a ring of %d slots was made", n)
				}
			}()
			NewRing[int](n)
		}()
	}
}

// BenchmarkHandover is a value there and back between two goroutines, by ring beside
// by channel, in turns.
func BenchmarkHandover(b *testing.B) {
	b.Run("ring", func(b *testing.B) {
		b.ReportAllocs()
		there, back := NewRing[int](1024), NewRing[int](1024)
		go func() {
			for {
				v, ok := there.Pop()
				if !ok {
					if !there.Park(there.Empty) {
						return
					}
					continue
				}
				back.Push(v)
			}
		}()
		pump(b, there.Push, back.Pop, func() { back.Park(back.Empty) })
		there.Close()
	})
	b.Run("channel", func(b *testing.B) {
		b.ReportAllocs()
		there, back := make(chan int, 1024), make(chan int, 1024)
		go func() {
			for v := range there {
				back <- v
			}
		}()
		pump(b, func(v int) bool { there <- v; return true }, func() (int, bool) { return <-back, true }, nil)
		close(there)
	})
}

// pump keeps 64 values under way.
func pump(b *testing.B, push func(int) bool, pop func() (int, bool), park func()) {
	sent := 0
	for range b.N {
		for ; sent < b.N && sent-64 < 0; sent++ {
			push(sent)
		}
		for _, ok := pop(); !ok; _, ok = pop() {
			park()
		}
		if sent < b.N {
			push(sent)
			sent++
		}
	}
}
