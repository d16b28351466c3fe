package run

import "darboux/loadtest/workload"

// group is requests of one kind that were sent together: they share their
// times.
type group struct {
	kind     workload.Kind
	n        int64
	intended int64 // ns since the run's start
	actual   int64 // the moment before the first write that offered them; unsent before
}

// unsent is the actual start of a request that no write has offered yet.
const unsent = int64(-1)

// flight is the requests of a connection that are not answered, in their order.
// It is a ring that grows; head and tail count groups for ever.
type flight struct {
	ring       []group // a power of two
	head, tail uint64
}

func (f *flight) empty() bool { return f.head == f.tail }

// front is the oldest group; there must be one.
func (f *flight) front() *group { return &f.ring[f.head&uint64(len(f.ring)-1)] }

func (f *flight) at(i uint64) *group { return &f.ring[i&uint64(len(f.ring)-1)] }

// push adds n requests that are not sent yet, to the last group if that was
// neither and is the same in all else.
func (f *flight) push(kind workload.Kind, n, intended int64) {
	if !f.empty() {
		if g := f.at(f.tail - 1); g.actual == unsent && g.kind == kind && g.intended == intended {
			g.n += n
			return
		}
	}
	if int(f.tail-f.head) == len(f.ring) {
		f.grow()
	}
	*f.at(f.tail) = group{kind: kind, n: n, intended: intended, actual: unsent}
	f.tail++
}

func (f *flight) grow() {
	bigger := make([]group, max(16, 2*len(f.ring)))
	for i := f.head; i != f.tail; i++ {
		bigger[i&uint64(len(bigger)-1)] = *f.at(i)
	}
	f.ring = bigger
}

// pop drops the front group.
func (f *flight) pop() { f.head++ }
