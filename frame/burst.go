package frame

import (
	"net/netip"
	"sync/atomic"

	"github.com/valyala/bytebufferpool"
)

// Home is where a burst goes when a handler lets go of it: its loop.
type Home interface {
	// GiveBack takes the burst back. Any goroutine may call it, for a burst
	// that it owns; there is always room.
	GiveBack(b *Burst)
	// Awaited reports whether others wait for what a burst that is out holds: then one
	// that yielded is better given back. Any goroutine may call it.
	Awaited() bool
}

// Taker takes a burst up again that was Waiting: the pool, or the loop that works its
// bursts itself.
type Taker interface {
	// TakeUp takes the burst. Any goroutine may call it, for a burst that it owns;
	// there is always room.
	TakeUp(b *Burst)
}

// Kept is what a Worker keeps in a burst between the slices of a frame.
type Kept interface {
	// Release lets go of it, once, when the burst is given up. Whoever owns the
	// burst calls it, a handler or a loop.
	Release()
}

// Breakable is a Kept that others may break: the rest of the frame can't be had any more.
type Breakable interface {
	Kept
	// Broken is why; nil as long as it is not. Any goroutine may call it.
	Broken() error
}

// Roomy is a Kept that takes room.
type Roomy interface {
	Kept
	// Room is how many bytes of the burst's Extra it takes. The burst's owner calls it.
	Room() int
}

// Burst is the whole frames that one connection had ready, contiguous, with room
// for their replies. A connection has at most one burst out, so its frames are
// worked and answered in order whichever handler takes it.
//
// A burst belongs to its loop until the loop's push returns true, then to the
// handler that pops it until it is given back; its buffers go with it. Only the
// gone mark crosses: the loop may set it at any time.
type Burst struct {
	In     []byte           // whole frames; a Worker may change those that it has begun
	Store  []byte           // the buffer that In lies in
	Claim  int              // bytes of Extra that Store takes up
	Next   int              // offset in In of the first frame that is not answered
	Out    []byte           // replies, appended by the Worker
	Own    int              // bytes that the reply buffer may have without asking Extra; set by Start
	Window int              // bytes in Out from which on the Worker begins no further frame
	Unsent int              // bytes of earlier replies that the kernel had not taken when the burst was pushed
	Peer   string           // the other side's address, for reports
	Kind   int              // which of the Protocols the burst is of
	Status Status           // the Worker's last word, set when the burst is given back
	From   []netip.AddrPort // of bursts of datagrams: where each frame came from
	Close  bool             // set by the Worker: no further frame is answered, and the connection is closed behind the replies; what is Kept says if it is Broken
	Brief  bool             // set by a loop that works the burst itself although there are handlers; see Protocol
	Taker  Taker            // who works it, for Resume
	Home   Home             // who gets it back
	Owner  int              // the loop's mark of the connection; no business of a handler
	Kept   Kept             // what a Worker keeps while a frame is worked in slices; nil between frames
	Extra  *Reserve         // where room for a reply larger than the window comes from; nil: nowhere

	gone     atomic.Bool
	onGone   atomic.Pointer[func()]
	aside    []byte // see SetAside; as many bytes of Extra are taken
	reserved int
	buffer   *bytebufferpool.ByteBuffer
}

// SetGone marks that nobody waits for the replies any more. Only the loop that
// owns the connection calls it, while the burst is out.
func (b *Burst) SetGone() {
	b.gone.Store(true)
	if f := b.onGone.Load(); f != nil {
		(*f)()
	}
}

// OnGone makes f be called when the burst is marked gone, by the loop, which must not be
// held up; nil takes it away. A Worker sets it before it lets a burst wait, and then asks
// Gone, because the mark may have come just before.
func (b *Burst) OnGone(f func()) {
	if f == nil {
		b.onGone.Store(nil)
		return
	}
	b.onGone.Store(&f)
}

// Resume lets the burst be worked on after it was Waiting. Its owner calls it, once.
func (b *Burst) Resume() { b.Taker.TakeUp(b) }

// Gone reports whether the connection is closed. A Worker asks before each frame
// and slice, and stops.
func (b *Burst) Gone() bool { return b.gone.Load() }

// Left returns the frames that are not answered yet.
func (b *Burst) Left() []byte { return b.In[b.Next:] }

// Start gives the burst a reply buffer of its own, of at most own bytes, if it has none.
// The loop calls it before it pushes.
func (b *Burst) Start(own int) {
	if b.buffer != nil {
		return
	}
	b.Own = own
	b.buffer = replies.Get()
	if cap(b.buffer.B) > own {
		replies.Put(b.buffer)
		b.buffer = &bytebufferpool.ByteBuffer{B: make([]byte, 0, own)}
	}
	b.Out = b.buffer.B[:0]
	b.putBack()
}

// SetAside moves what stands in Out beyond its first n bytes out of it, the beginning of a
// reply that takes long, so that the whole ones in front can leave. Start puts it back.
// Meanwhile its room is Extra's; false says that there is none now, or that nothing stands
// in front. A Worker calls it before it says Blocked.
func (b *Burst) SetAside(n int) bool {
	size := len(b.Out) - n
	if n == 0 || b.Extra == nil || !b.Extra.TryTake(size) {
		return false
	}
	b.aside = append([]byte(nil), b.Out[n:]...)
	b.CutTo(n)
	return true
}

// putBack puts what was set aside into Out, which is empty. Of its room what Out takes
// beyond its own stays taken.
func (b *Burst) putBack() {
	size := len(b.aside)
	if size == 0 {
		return
	}
	if size > cap(b.Out) {
		b.Out = make([]byte, 0, size)
	}
	b.Out = append(b.Out, b.aside...)
	b.reserved = max(0, cap(b.Out)-b.Own)
	b.Extra.Release(size - b.reserved)
	b.aside = nil
}

// TakeReply moves the replies out of the burst, together with their buffer and
// what is reserved for them.
func (b *Burst) TakeReply() Reply {
	b.buffer.B = b.Out
	r := Reply{buffer: b.buffer, reserve: b.Extra, reserved: b.reserved}
	b.Out, b.buffer, b.reserved = nil, nil, 0
	return r
}

// DropIn gives up the frames, when all of them are begun and none is looked at any more: so
// their buffer doesn't stay for as long as a peer takes to read the last one's reply. A
// Worker calls it before it lets go of the burst.
func (b *Burst) DropIn() { b.In, b.Next = nil, 0 }

// GiveUp lets go of what a Worker keeps in the burst, because nobody waits for the rest
// of the frame. The burst's owner calls it.
func (b *Burst) GiveUp() {
	if b.aside != nil {
		b.Extra.Release(len(b.aside))
		b.aside = nil
	}
	if b.Kept != nil {
		b.Kept.Release()
		b.Kept = nil
	}
}

// Room is how many bytes of Extra the burst takes while it is Blocked. Its owner calls it.
func (b *Burst) Room() int {
	room := b.Claim + len(b.aside)
	if kept, ok := b.Kept.(Roomy); ok {
		room += kept.Room()
	}
	return room
}

// Broken is why the rest of the frame that a Worker is in the middle of can't be had any
// more; nil if it can, or there is none. The burst's owner calls it.
func (b *Burst) Broken() error {
	if kept, ok := b.Kept.(Breakable); ok {
		return kept.Broken()
	}
	return nil
}

// Clear makes the burst fit to be used again. The loop calls it when it owns the
// burst and has taken the reply and the input buffer out.
func (b *Burst) Clear() {
	if b.buffer != nil || b.Kept != nil || b.aside != nil {
		panic("BUG: burst cleared with a reply or something kept in it")
	}
	from := b.From[:0]
	*b = Burst{From: from}
}

// Grow asks for room for n more bytes in Out. A buffer of Own bytes is the burst's
// own; what it is larger comes from Extra, also where an append made it larger since the
// last call. False says that Extra has no room now; then Out is as it was.
func (b *Burst) Grow(n int) bool {
	need, size := len(b.Out)+n, cap(b.Out)
	if need > size {
		size = max(need, min(2*size, need+MaxSmallReply))
	}
	if over := size - b.Own - b.reserved; over > 0 {
		if b.Extra == nil || !b.Extra.TryTake(over) {
			return false
		}
		b.reserved += over
	}
	if size > cap(b.Out) {
		b.Out = append(make([]byte, 0, size), b.Out...)
	}
	return true
}

// CutTo takes back what was appended to Out beyond its first n bytes, and the memory that
// it took beyond the burst's room.
func (b *Burst) CutTo(n int) {
	b.Out = b.Out[:n]
	if room := b.Own + b.reserved; cap(b.Out) > room {
		b.Out = append(make([]byte, 0, max(room, n)), b.Out...)
	}
}

const (
	// MaxSmallReply is the size in bytes up to which a reply needs no room but its
	// burst's own: the window of a connection is stretched by at most one of them.
	MaxSmallReply = 64 << 10
	// OwnReply is the size in bytes of the reply buffer that a burst has where memory
	// is not short: a window and one small reply.
	OwnReply = 2 * MaxSmallReply
)
