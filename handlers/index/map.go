package index

import (
	"encoding/binary"
	"hash/maphash"
	"sync"
	"sync/atomic"

	"darboux/handlers/riemann"
)

// Map is the plain store: Go maps of stored bytes behind a lock each. It is the
// model that the real index is tested against, so it is meant to be obvious.
type Map struct {
	cfg      Config
	seed     maphash.Seed
	shards   []mapShard
	listener listener
	entries  atomic.Int64
	refusal  atomic.Pointer[LimitError]
}

type mapShard struct {
	mu      sync.Mutex
	entries map[string]*mapEntry
	// order has the entries by birth, and dead ones until there are too many:
	// it gives cursors a place that stays.
	order   []*mapEntry
	dead    int
	births  uint64
	counts  Stats
	changes changes
}

type mapEntry struct {
	key      string
	born     uint64
	stored   []byte
	kept     riemann.Fields
	at       int64 // the event's time, in microseconds of the Unix epoch
	deadline int64 // see riemann.Event.Deadline
	dead     bool
}

// NewMap returns an empty Map. It panics if cfg is not valid.
func NewMap(cfg Config) *Map {
	cfg = cfg.withDefaults()
	m := &Map{cfg: cfg, seed: maphash.MakeSeed(), shards: make([]mapShard, cfg.Shards)}
	for i := range m.shards {
		m.shards[i].entries = map[string]*mapEntry{}
	}
	return m
}

// Listen implements Store.
func (m *Map) Listen(hook func(*Change)) { m.listener.set(hook) }

// WhyRefused implements Store.
func (m *Map) WhyRefused() *LimitError { return m.refusal.Load() }

// Apply implements Store.
func (m *Map) Apply(events []riemann.Event, now int64, refused []bool) int {
	n := 0
	for i := range events {
		refused[i] = !m.apply(&events[i], now)
		if refused[i] {
			n++
		}
	}
	return n
}

// apply takes one event and reports whether it could.
func (m *Map) apply(e *riemann.Event, now int64) bool {
	key := keyOf(e)
	s := &m.shards[maphash.String(m.seed, key)%uint64(len(m.shards))]
	s.mu.Lock()
	taken := m.applyLocked(s, key, e, now)
	s.mu.Unlock()
	m.tell(s)
	return taken
}

func (m *Map) applyLocked(s *mapShard, key string, e *riemann.Event, now int64) bool {
	old := s.entries[key]
	if old != nil && m.cfg.NewestWins && old.at > e.At(now) {
		s.counts.Older++
		return true
	}
	stored := e.AppendStored(nil, now, m.cfg.DefaultTTL)
	if e.IsExpired() {
		if old != nil {
			m.remove(s, old)
			s.counts.Deleted++
		}
		m.note(s, Deleted, e.Kept(), stored)
		return true
	}
	if old == nil {
		if old = m.insert(s, key); old == nil {
			return false
		}
		s.counts.Inserted++
	} else {
		s.counts.Updated++
	}
	s.counts.StoredBytes += int64(len(stored) - len(old.stored))
	old.stored, old.kept = stored, e.Kept()
	old.at, old.deadline = e.At(now), e.Deadline(now, m.cfg.DefaultTTL)
	m.note(s, Inserted, old.kept, stored)
	return true
}

// insert makes an entry for a new key; nil if there are too many.
func (m *Map) insert(s *mapShard, key string) *mapEntry {
	if m.cfg.Entries.exceededBy(m.entries.Add(1)) {
		m.entries.Add(-1)
		s.counts.RefusedEntries++
		m.refusal.Store(&LimitError{"entries", m.cfg.Entries})
		return nil
	}
	x := &mapEntry{key: key, born: s.births}
	s.births++
	s.entries[key] = x
	s.order = append(s.order, x)
	return x
}

func (m *Map) remove(s *mapShard, x *mapEntry) {
	m.entries.Add(-1)
	s.counts.StoredBytes -= int64(len(x.stored))
	delete(s.entries, x.key)
	x.dead = true
	s.dead++
	if 2*s.dead > len(s.order) {
		s.bury()
	}
}

// bury takes the dead out of order.
func (s *mapShard) bury() {
	alive := make([]*mapEntry, 0, len(s.entries))
	for _, x := range s.order {
		if !x.dead {
			alive = append(alive, x)
		}
	}
	s.order, s.dead = alive, 0
}

// Expire implements Store.
func (m *Map) Expire(now int64) int {
	n := 0
	for i := range m.shards {
		n += m.expireShard(&m.shards[i], now)
		m.tell(&m.shards[i])
	}
	return n
}

func (m *Map) expireShard(s *mapShard, now int64) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := 0
	for _, x := range s.entries {
		if now <= x.deadline {
			continue
		}
		m.remove(s, x)
		n++
		if m.listener.listening() {
			var e riemann.Event
			x.view(&e)
			s.changes.noteExpired(&e, m.cfg.ExpireKeep, now)
		}
	}
	s.counts.Expired += int64(n)
	return n
}

// Search implements Store.
func (m *Map) Search(q Matcher, cur *Cursor, dst []byte, limit int) []byte {
	budget, limit := cur.budget(), orNone(limit)
	cur.Full, cur.Way = false, ByScan
	for cur.shard < len(m.shards) && budget > 0 && len(dst) < limit && !cur.Full {
		dst = m.searchShard(&m.shards[cur.shard], q, cur, dst, limit, &budget)
	}
	cur.Done = cur.shard == len(m.shards)
	return dst
}

// searchShard goes on in a shard until it is at its end or budget or limit are
// reached.
func (m *Map) searchShard(s *mapShard, q Matcher, cur *Cursor, dst []byte, limit int, budget *int) []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !cur.inside {
		cur.inside, cur.born = true, s.births
	}
	for _, x := range s.order[s.bornFrom(cur.next):] {
		if x.born >= cur.born {
			break
		}
		if *budget == 0 || len(dst) >= limit {
			return dst
		}
		if x.dead {
			continue
		}
		x.view(&cur.view)
		if q.Match(&cur.view) {
			n := fieldSize(uint32(len(x.stored)))
			if cur.Within && len(dst)+n > limit {
				cur.Full = true
				return dst
			}
			if cur.Matched++; !cur.Count {
				dst = riemann.AppendEventField(dst, x.stored)
			}
			cur.Bytes += int64(n)
		}
		*budget--
		cur.Looked++
		cur.next = x.born + 1
	}
	cur.leaveShard()
	return dst
}

// Stream implements Store.
func (m *Map) Stream() Stream { return &mapStream{store: m} }

// mapStream is the Stream of a Map: it has its own copies of what it found.
type mapStream struct {
	store *Map
	found []byte
}

// Find implements Stream.
func (st *mapStream) Find(q Matcher, cur *Cursor) {
	st.found = st.store.Search(q, cur, st.found, 0)
}

// Next implements Stream.
func (st *mapStream) Next(dst []byte, limit int) (out []byte, done bool) {
	n := min(len(st.found), max(0, limit-len(dst)))
	dst = append(dst, st.found[:n]...)
	st.found = st.found[n:]
	return dst, len(st.found) == 0
}

// Broken implements Stream: it never is.
func (st *mapStream) Broken() error { return nil }

// Release implements Stream.
func (st *mapStream) Release() { st.found = nil }

// bornFrom is the index in order of the first entry born at or after born.
func (s *mapShard) bornFrom(born uint64) int {
	lo, hi := 0, len(s.order)
	for lo < hi {
		if mid := (lo + hi) / 2; s.order[mid].born < born {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	return lo
}

// Stats implements Store.
func (m *Map) Stats() Stats {
	var sum Stats
	for i := range m.shards {
		s := &m.shards[i]
		s.mu.Lock()
		sum.add(&s.counts)
		s.mu.Unlock()
	}
	sum.Entries = m.entries.Load()
	return sum
}

func (x *mapEntry) view(e *riemann.Event) {
	if err := e.ParseStored(x.stored, x.kept); err != nil {
		panic("BUG: a stored event is damaged: " + err.Error())
	}
}

func (m *Map) note(s *mapShard, kind ChangeKind, kept riemann.Fields, stored []byte) {
	if m.listener.listening() {
		s.changes.note(kind, kept, stored)
	}
}

func (m *Map) tell(s *mapShard) {
	if m.listener.listening() {
		s.changes.tell(&m.listener, &s.mu)
	}
}

// keyOf is e's key as a string: host and service, each with its length, or
// that it is missing.
func keyOf(e *riemann.Event) string {
	var key []byte
	for _, part := range [][]byte{e.HostBytes(), e.ServiceBytes()} {
		if part == nil {
			key = append(key, 0)
			continue
		}
		key = binary.AppendUvarint(append(key, 1), uint64(len(part)))
		key = append(key, part...)
	}
	return string(key)
}
