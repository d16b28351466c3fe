package frame

import (
	"fmt"
	"runtime"
	"sync/atomic"
)

// cacheLine keeps what different processors write apart: two lines, because
// processors prefetch them in pairs.
const cacheLine = 128

// Ring is a bounded lock-free queue for any number of pushing and popping
// goroutines. Full and empty are answers, not errors. Values pushed by one
// goroutine are popped in their order.
//
// Each slot carries a turn: at turn = position the slot is free for the push of
// that position, at position+1 it holds the value for the pop of that position,
// and the pop leaves it at position+size, free for the next time around.
type Ring[T any] struct {
	slots []slot[T]
	mask  uint64
	_     [cacheLine]byte
	head  atomic.Uint64 // position of the next push
	_     [cacheLine]byte
	tail  atomic.Uint64 // position of the next pop
	_     [cacheLine]byte
	parking
}

type slot[T any] struct {
	turn  atomic.Uint64
	value T
}

// MaxSlots is the most slots a Ring may have.
const MaxSlots = 1 << 20

// NewRing makes a ring of so many slots, a power of two from 2 to MaxSlots.
func NewRing[T any](slots int) *Ring[T] {
	if slots < 2 || slots > MaxSlots || slots&(slots-1) != 0 {
		panic(fmt.Sprintf("BUG: a ring of %d slots; want a power of two from 2 to %d", slots, MaxSlots))
	}
	r := &Ring[T]{slots: make([]slot[T], slots), mask: uint64(slots - 1)}
	for i := range r.slots {
		r.slots[i].turn.Store(uint64(i))
	}
	r.parking.init()
	return r
}

// Cap returns the number of slots.
func (r *Ring[T]) Cap() int { return len(r.slots) }

// Len returns about how many values wait: exact when nobody pushes or pops.
func (r *Ring[T]) Len() int {
	tail := r.tail.Load()
	return int(r.head.Load() - tail)
}

// Push hands v over and wakes one parked goroutine if any is parked and no wake
// is on its way. It returns false, and v stays the caller's, if the ring is full.
// When it has returned true v belongs to whoever pops it.
func (r *Ring[T]) Push(v T) bool {
	for {
		at := r.head.Load()
		s := &r.slots[at&r.mask]
		switch turn := s.turn.Load(); {
		case turn == at:
			if r.head.CompareAndSwap(at, at+1) {
				s.value = v
				s.turn.Store(at + 1) // the value is the popper's from here on
				r.Wake()
				return true
			}
		case turn < at:
			if int64(at-r.tail.Load()) >= int64(len(r.slots)) {
				return false
			}
			runtime.Gosched() // a popper has claimed the slot's old value and is about to free it
		}
	}
}

// Pop takes the oldest value; false says that the ring is empty.
func (r *Ring[T]) Pop() (T, bool) {
	var none T
	for {
		at := r.tail.Load()
		s := &r.slots[at&r.mask]
		switch turn := s.turn.Load(); {
		case turn == at+1:
			if r.tail.CompareAndSwap(at, at+1) {
				v := s.value
				s.value = none // what is popped must not be kept alive here
				s.turn.Store(at + uint64(len(r.slots)))
				return v, true
			}
		case turn < at+1:
			return none, false
		}
	}
}

// Empty reports whether a Pop just now would have found nothing.
func (r *Ring[T]) Empty() bool {
	at := r.tail.Load()
	return r.slots[at&r.mask].turn.Load() < at+1
}
