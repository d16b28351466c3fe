package wire

import (
	"encoding/binary"

	"google.golang.org/protobuf/encoding/protowire"
)

// Outcome is what a reply says.
type Outcome uint8

// The outcomes of a reply.
const (
	Partial   Outcome = iota // not whole yet
	OK                       // ok=true
	Rejected                 // ok=false
	Malformed                // it does not begin with ok
)

// keptText bounds the bytes of a rejection that are kept for its error.
const keptText = 1024

// The bytes of an answer that is nothing but ok=true, in a word whose two low
// bytes are cut off.
const (
	ackLen  = 6
	ackWord = 0x000000021001
)

// Replies cuts a connection's incoming bytes into replies. A reply may be of
// any length: its body is passed over, not kept. The zero value is at the
// beginning of a stream.
type Replies struct {
	head   [6]byte // header, and the body's first two bytes
	have   int     // of head
	left   int64   // bytes of the body that are still to come
	reason []byte  // the head of the last rejection's body
}

// Acks returns the number of plain acknowledgements, each the 6 bytes of
// ok=true and nothing else, at the head of b. It is the fast path: 0 if b goes
// on with a reply begun earlier or with anything else.
func (r *Replies) Acks(b []byte) int {
	if r.have > 0 {
		return 0
	}
	n := 0
	for len(b) >= 8 && binary.BigEndian.Uint64(b)>>16 == ackWord {
		b = b[ackLen:]
		n++
	}
	for len(b) >= ackLen && binary.BigEndian.Uint32(b) == ackWord>>16 && binary.BigEndian.Uint16(b[4:]) == ackWord&0xffff {
		b = b[ackLen:]
		n++
	}
	return n
}

// Next takes up to one reply from b and returns how many bytes it used. With
// Partial all of b is used.
func (r *Replies) Next(b []byte) (used int, o Outcome) {
	used = r.fill(b, 4)
	if r.have < 4 {
		return used, Partial
	}
	length := int64(binary.BigEndian.Uint32(r.head[:]))
	want := 4 + int(min(length, 2))
	if r.have == 4 {
		r.reason = r.reason[:0]
	}
	used += r.fill(b[used:], want)
	if r.have < want {
		return used, Partial
	}
	if r.left == 0 {
		r.left = length - int64(want-4) + 1 // one more than there are: 0 says that the head is not done
		r.keep(r.head[4:want])
	}
	body := b[used:min(int64(len(b)), int64(used)+r.left-1)]
	r.keep(body)
	r.left -= int64(len(body))
	used += len(body)
	if r.left > 1 {
		return used, Partial
	}
	o = r.outcome(want)
	r.have, r.left = 0, 0
	return used, o
}

// fill takes bytes from b until head has want of them.
func (r *Replies) fill(b []byte, want int) int {
	if r.have >= want {
		return 0
	}
	n := copy(r.head[r.have:want], b)
	r.have += n
	return n
}

// keep remembers the body of a rejection, as far as there is room.
func (r *Replies) keep(body []byte) {
	if r.have == 6 && r.head[4] == 0x10 && r.head[5] == 0 {
		r.reason = append(r.reason, body[:min(len(body), keptText-len(r.reason))]...)
	}
}

// HTTP tells whether the stream goes on as a server of HTTP answers. Taken for a frame it
// is one of more than a gigabyte, which never becomes whole.
func (r *Replies) HTTP() bool { return r.have == len(r.head) && string(r.head[:]) == "HTTP/1" }

// HTTPHint is what to tell then.
const HTTPHint = "it answers HTTP: --target must be its address for Riemann's protocol, by default port 5555"

func (r *Replies) outcome(have int) Outcome {
	switch {
	case have < 6 || r.head[4] != 0x10 || r.head[5] > 1:
		return Malformed
	case r.head[5] == 0:
		return Rejected
	}
	return OK
}

// Reason is the error text of the last rejection, cut if it is long.
func (r *Replies) Reason() string {
	b := r.reason
	for len(b) > 0 {
		number, kind, n := protowire.ConsumeTag(b)
		if n < 0 {
			return ""
		}
		b = b[n:]
		if number == 3 && kind == protowire.BytesType {
			length, n := protowire.ConsumeVarint(b)
			if n < 0 {
				return ""
			}
			return string(b[n : n+int(min(length, uint64(len(b)-n)))])
		}
		n = protowire.ConsumeFieldValue(number, kind, b)
		if n < 0 {
			return ""
		}
		b = b[n:]
	}
	return ""
}
