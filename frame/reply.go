package frame

import "github.com/valyala/bytebufferpool"

// replies holds the reply buffers, whose sizes vary with what is asked.
var replies bytebufferpool.Pool

// Reply is the replies of a burst on their way to the kernel. It belongs to the
// loop that took it.
type Reply struct {
	Held int // bytes that its loop counts for it

	sent     int // bytes of buffer that the kernel has taken
	buffer   *bytebufferpool.ByteBuffer
	reserve  *Reserve
	reserved int
}

// NewReply makes a reply of what write appends to the buffer that it is given.
func NewReply(write func(dst []byte) []byte) Reply {
	buffer := replies.Get()
	buffer.B = write(buffer.B[:0])
	return Reply{buffer: buffer}
}

// Rest returns what the kernel has not taken yet.
func (r *Reply) Rest() []byte { return r.buffer.B[r.sent:] }

// Advance notes that the kernel has taken n more bytes.
func (r *Reply) Advance(n int) { r.sent += n }

// Size is the memory that the reply takes, without what the reserve has given for it.
func (r *Reply) Size() int { return max(0, cap(r.buffer.B)-r.reserved) }

// Compact moves what the kernel has not taken into a buffer of its size, if the one it is
// in is much larger: a reply that has to wait holds no more memory than it needs.
func (r *Reply) Compact() {
	rest := r.Rest()
	if cap(r.buffer.B) <= 2*len(rest)+1<<10 || r.reserved > 0 {
		return
	}
	kept := &bytebufferpool.ByteBuffer{B: append(make([]byte, 0, len(rest)), rest...)}
	Poison(r.buffer.B)
	replies.Put(r.buffer)
	r.buffer, r.sent = kept, 0
}

// Join appends next to r and releases it, if both together are small: so what waits
// for the kernel is never in many pieces. It returns false, with nothing changed, if
// they are not.
func (r *Reply) Join(next *Reply) bool {
	if len(r.Rest())+len(next.Rest()) > MaxSmallReply {
		return false
	}
	r.buffer.B = append(r.buffer.B[:copy(r.buffer.B, r.Rest())], next.Rest()...)
	r.sent = 0
	next.Release()
	return true
}

// Release gives the buffer back to the pool and the room to its reserve. The
// bytes must not be touched afterwards.
func (r *Reply) Release() {
	if r.reserved > 0 {
		r.reserve.Release(r.reserved)
	}
	Poison(r.buffer.B)
	if cap(r.buffer.B) <= OwnReply { // larger ones are rare and would stay as large
		replies.Put(r.buffer)
	}
	*r = Reply{}
}
