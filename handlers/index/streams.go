package index

import (
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
)

// streams are all streams of an index, and the memory for them: the lists of what they
// have found, and the orphans that they still need. Over the limit the youngest stream
// is broken, by whoever needs the room. For what a search finds room is made behind it: so
// each search that runs may be over the limit by a block, and by what is counted for the
// pins that have no room in the headers of some entries, for as long as that takes.
type streams struct {
	limit   Limit
	used    atomic.Int64 // bytes
	orphans atomic.Int64 // bytes of it that are orphans
	count   atomic.Int64 // streams that have pins, or may get some

	opened, broken atomic.Int64

	mu        sync.Mutex
	open      []*stream // in the order of their opening
	closing   []*stream // broken or released, with pins left
	releasing bool      // a goroutine is at it
	released  sync.Cond // signalled when it ends
}

func (m *streams) begin(limit Limit) {
	m.limit = limit
	m.released.L = &m.mu
}

func (m *streams) fits(n int64) bool {
	return !m.limit.exceededBy(m.used.Load() + n)
}

func (m *streams) add(n int64) { m.used.Add(n) }

func (m *streams) addOrphan(n int64) {
	m.used.Add(n)
	m.orphans.Add(n)
}

// tryOrphan takes n bytes for an orphan if they fit. Where no stream is, nothing can be
// broken: then some searches hold a few entries for a moment, and may.
func (m *streams) tryOrphan(n int64) bool {
	m.addOrphan(n)
	if m.fits(0) || m.count.Load() == 0 {
		return true
	}
	m.addOrphan(-n)
	return false
}

// enter opens a stream.
func (m *streams) enter(st *stream) {
	m.opened.Add(1)
	m.count.Add(1)
	m.mu.Lock()
	m.open = append(m.open, st)
	m.mu.Unlock()
}

// makeRoom breaks streams, the youngest first, until n bytes fit or there are none. The
// caller holds no lock of a shard or a stream.
func (m *streams) makeRoom(n int64) {
	for !m.fits(n) {
		st := m.next()
		if st == nil {
			break
		}
		for !m.fits(n) && st.step() {
		}
	}
	m.mu.Lock()
	m.releaseRest()
	m.mu.Unlock()
}

// next is a stream that is closing, or the youngest one, which is broken.
func (m *streams) next() *stream {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.closing) > 0 {
		return m.closing[0]
	}
	last := len(m.open) - 1
	if last < 0 {
		return nil
	}
	st := m.open[last]
	m.open = slices.Delete(m.open, last, last+1)
	m.closing = append(m.closing, st)
	m.broken.Add(1)
	st.broken.Store(true)
	return st
}

// close makes a stream that is released one that is closing, unless it was broken.
func (m *streams) close(st *stream) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if i := slices.Index(m.open, st); i >= 0 {
		m.open = slices.Delete(m.open, i, i+1)
		m.closing = append(m.closing, st)
	}
}

// gone notes that a closing stream has no pins any more.
func (m *streams) gone(st *stream) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if i := slices.Index(m.closing, st); i >= 0 {
		m.closing = slices.Delete(m.closing, i, i+1)
		m.count.Add(-1)
	}
}

// releaseRest sees to it that closing streams lose their pins: on a goroutine that lives
// until they have, for they may be millions. The caller holds m.mu.
func (m *streams) releaseRest() {
	if len(m.closing) == 0 || m.releasing {
		return
	}
	m.releasing = true
	go func() {
		for st := m.firstClosing(); st != nil; st = m.firstClosing() {
			for st.step() {
			}
		}
	}()
}

// firstClosing is a closing stream; nil ends the goroutine of releaseRest.
func (m *streams) firstClosing() *stream {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.closing) > 0 {
		return m.closing[0]
	}
	m.releasing = false
	m.released.Broadcast()
	return nil
}

// wait waits until no closing stream is left.
func (m *streams) wait() {
	m.mu.Lock()
	defer m.mu.Unlock()
	for m.releasing {
		m.released.Wait()
	}
}

// err is why a stream was broken.
func (m *streams) err() error {
	return fmt.Errorf("%s %d is used up, and this was the youngest reply on its way: read faster, narrow the query or raise it",
		m.limit.Flag, m.limit.Value)
}

func (m *streams) stats() StreamStats {
	m.mu.Lock()
	open := len(m.open)
	m.mu.Unlock()
	return StreamStats{
		Open:   int64(open),
		Opened: m.opened.Load(),
		Broken: m.broken.Load(),
		Bytes:  m.used.Load(),
	}
}
