package index

import (
	"encoding/binary"
	"sync"
	"sync/atomic"

	"darboux/handlers/riemann"
)

// ChangeKind says what happened to a key.
type ChangeKind uint8

// The kinds of a Change.
const (
	Inserted ChangeKind = iota + 1 // an event was taken: the key is new, or its event was replaced
	Deleted                        // an event with the state "expired" came, whether the key was there or not
	Expired                        // Expire took the key out
)

// Change is told to the listener. The changes of one key come in the order in
// which they happened, one after the other; none comes twice or is left out
// while the hook is set. So the notice of an expiry never comes after the
// refresh that it raced with.
//
// The hook is called without any lock that Apply or Search of others need, but
// the Apply or Expire that made the change waits for it, and changes of keys of
// the same shard wait in memory: it must be quick, must not block and must not
// change the store.
type Change struct {
	Kind ChangeKind

	// Event is the event as stored; with Expired the notice of it: state
	// "expired", the time of the run, and the fields of Config.ExpireKeep. It
	// is valid until the hook returns.
	Event *riemann.Event
}

// listener is the hook of a store.
type listener struct {
	hook atomic.Pointer[func(*Change)]
}

func (l *listener) set(hook func(*Change)) {
	if hook == nil {
		l.hook.Store(nil)
		return
	}
	l.hook.Store(&hook)
}

func (l *listener) listening() bool { return l.hook.Load() != nil }

// changes is a shard's queue of what the listener is still to be told. It is
// filled under the shard's lock, in the order of what happens, and emptied by
// tell, one goroutine at a time: so the order stays without the hook being
// called under the shard's lock.
type changes struct {
	pending []byte // records, see note; guarded by the shard's lock

	telling sync.Mutex // held by the goroutine that tells
	taken   []byte     // what it is at; guarded by telling
	event   riemann.Event
}

// changeHeader is kind (1 byte), kept (2), length (4) before each event.
const changeHeader = 7

// note adds a change. The caller holds the shard's lock.
func (c *changes) note(kind ChangeKind, kept riemann.Fields, event []byte) {
	c.pending = append(c.pending, byte(kind), byte(kept), byte(kept>>8), 0, 0, 0, 0)
	binary.LittleEndian.PutUint32(c.pending[len(c.pending)-4:], uint32(len(event)))
	c.pending = append(c.pending, event...)
}

// noteExpired adds the notice of an expiry of e.
func (c *changes) noteExpired(e *riemann.Event, keep riemann.Fields, now int64) {
	c.note(Expired, 0, appendExpired(nil, e, keep, now))
}

// tell tells l all that is pending. The caller does not hold lock, the shard's.
// Whoever noted a change calls tell after releasing the lock: when tell returns,
// that change has been told.
func (c *changes) tell(l *listener, lock sync.Locker) {
	c.telling.Lock()
	defer c.telling.Unlock()
	for {
		lock.Lock()
		c.taken, c.pending = c.pending, c.taken[:0]
		lock.Unlock()
		if len(c.taken) == 0 {
			break
		}
		c.tellTaken(l)
	}
	if cap(c.taken) > mostScratch {
		c.taken = nil
	}
}

func (c *changes) tellTaken(l *listener) {
	hook := l.hook.Load()
	if hook == nil {
		return
	}
	for b := c.taken; len(b) > 0; {
		kind, kept := ChangeKind(b[0]), riemann.Fields(binary.LittleEndian.Uint16(b[1:]))
		end := changeHeader + int(binary.LittleEndian.Uint32(b[3:]))
		if err := c.parse(b[changeHeader:end], kept); err != nil {
			panic("BUG: a change's event is damaged: " + err.Error())
		}
		(*hook)(&Change{Kind: kind, Event: &c.event})
		b = b[end:]
	}
}

// parse views an event: stored if it has a kept set, a notice otherwise.
func (c *changes) parse(b []byte, kept riemann.Fields) error {
	if kept == 0 {
		return c.event.Parse(b)
	}
	return c.event.ParseStored(b, kept)
}
