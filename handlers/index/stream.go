package index

import (
	"sync"
	"sync/atomic"

	"google.golang.org/protobuf/encoding/protowire"
)

// stream is the Stream of an Index: what it finds it pins, and notes where it is. So an
// event that is found is copied once, when it is its turn, as it was when it was found.
//
// It belongs to whoever opened it; only its pins may be taken by others, who break it
// first.
type stream struct {
	index  *Index
	broken atomic.Bool

	mu     sync.Mutex // held while pins are used or taken away; before the lock of a shard, never within
	parts  []part     // what was found in each shard, one after the other
	blocks []*[blockRefs]ref
	found  int // entries, in parts

	sent    int // entries that Next is done with
	begun   bool
	offset  int // bytes of the next entry that Next has copied, if it is begun
	freed   int // entries that are unpinned
	part    int // in parts, where unpinning goes on
	left    int // entries of that part that are not unpinned
	release bool
}

// part is how many entries were found in a shard.
type part struct{ shard, n int }

const (
	blockRefs  = 1024
	blockBytes = blockRefs * 4

	// holdPins is how many pins are taken away under one lock of a shard.
	holdPins = 64
	// touchAhead is how many entries are touched together before they are copied.
	touchAhead = 16
	// fewPins is how many pins a Release takes away by itself.
	fewPins = 256
)

// Stream implements Store.
func (x *Index) Stream() Stream {
	st := &stream{index: x}
	x.streams.enter(st)
	return st
}

// Find implements Stream.
func (st *stream) Find(q Matcher, cur *Cursor) {
	f := finder{index: st.index, cur: cur, stream: st, limit: orNone(0)}
	f.find(q)
}

// take takes over the pins of entries of a shard, or takes them away if the stream is
// broken.
func (st *stream) take(shard int, refs []ref) {
	if len(refs) == 0 {
		return
	}
	m := &st.index.streams
	st.mu.Lock()
	if st.broken.Load() {
		st.mu.Unlock()
		st.index.shards[shard].unpinAll(refs)
		return
	}
	if last := len(st.parts) - 1; last < 0 || st.parts[last].shard != shard {
		st.parts = append(st.parts, part{shard: shard})
	}
	st.parts[len(st.parts)-1].n += len(refs)
	for _, at := range refs {
		if st.found%blockRefs == 0 {
			st.blocks = append(st.blocks, new([blockRefs]ref))
			m.add(blockBytes)
		}
		st.blocks[st.found/blockRefs][st.found%blockRefs] = at
		st.found++
	}
	st.mu.Unlock()
	if !m.fits(0) {
		m.makeRoom(0)
	}
}

func (s *shard) unpinAll(refs []ref) {
	s.mu.Lock()
	for _, at := range refs {
		s.unpin(at)
	}
	s.mu.Unlock()
}

func (st *stream) ref(i int) ref { return st.blocks[i/blockRefs][i%blockRefs] }

// Next implements Stream. The bytes of pinned entries are read without a lock.
func (st *stream) Next(dst []byte, limit int) (out []byte, done bool) {
	st.mu.Lock()
	defer st.mu.Unlock()
	if st.broken.Load() {
		return dst, false
	}
	for st.sent < st.found && len(dst) < limit {
		if st.sent%touchAhead == 0 && !st.begun {
			st.touch()
		}
		dst = st.copyNext(dst, limit)
		if st.sent-st.freed >= holdPins {
			st.unpin(st.sent)
		}
	}
	st.unpin(st.sent)
	return dst, st.sent == st.found
}

// touch loads the entries that come next, so that the cache misses overlap.
func (st *stream) touch() {
	sum := uint64(0)
	for i := st.sent; i < min(st.sent+touchAhead, st.found); i++ {
		sum += st.index.pages.touch(st.ref(i), mostTouched)
	}
	st.index.touched.Store(sum)
}

// copyNext copies of the next entry what has room.
func (st *stream) copyNext(dst []byte, limit int) []byte {
	x := (*entry)(st.index.pages.at(st.ref(st.sent)))
	if !st.begun {
		st.begun = true
		dst = protowire.AppendTag(dst, eventsNumber, protowire.BytesType)
		dst = protowire.AppendVarint(dst, uint64(x.size))
	}
	rest := x.stored()[st.offset:]
	n := min(len(rest), max(0, limit-len(dst)))
	dst = append(dst, rest[:n]...)
	if st.offset += n; n == len(rest) {
		st.sent, st.begun, st.offset = st.sent+1, false, 0
	}
	return dst
}

// unpin takes away the pins of the entries before end, shard by shard and some under each
// lock. The caller holds st.mu.
func (st *stream) unpin(end int) {
	for st.freed < end {
		for st.left == 0 {
			st.left = st.parts[st.part].n
			st.part++
		}
		n := min(end-st.freed, st.left, holdPins)
		s := st.index.shards[st.parts[st.part-1].shard]
		s.mu.Lock()
		for i := range n {
			s.unpin(st.ref(st.freed + i))
		}
		s.mu.Unlock()
		st.dropBlocks(st.freed, st.freed+n)
		st.freed, st.left = st.freed+n, st.left-n
	}
}

// dropBlocks frees the blocks whose entries up to end are unpinned, if they were not up to
// begin.
func (st *stream) dropBlocks(begin, end int) {
	for i := begin / blockRefs; i < end/blockRefs || end == st.found && i < len(st.blocks); i++ {
		if st.blocks[i] != nil {
			st.blocks[i] = nil
			st.index.streams.add(-blockBytes)
		}
	}
}

// step takes away some pins of a stream that is closing, and returns false if it has no
// more.
func (st *stream) step() bool {
	st.mu.Lock()
	st.unpin(min(st.found, st.freed+holdPins))
	more := st.freed < st.found
	st.mu.Unlock()
	if !more {
		st.index.streams.gone(st)
	}
	return more
}

// Broken implements Stream.
func (st *stream) Broken() error {
	if st.broken.Load() {
		return st.index.streams.err()
	}
	return nil
}

// Release implements Stream. Many pins are taken away by a goroutine.
func (st *stream) Release() {
	m := &st.index.streams
	m.close(st)
	st.mu.Lock()
	if st.release {
		panic("BUG: a stream is released twice")
	}
	st.release = true
	few := st.found-st.freed <= fewPins
	st.mu.Unlock()
	if few {
		for st.step() {
		}
		return
	}
	m.mu.Lock()
	m.releaseRest()
	m.mu.Unlock()
}
