package loop

import (
	"math/bits"

	"darboux/frame"
)

const (
	smallestBuffer = 1 << 10
	largestBuffer  = 1 << 20 // larger ones are rare, and left to the collector
	bufferClasses  = 11      // 1 KiB, 2 KiB, ... 1 MiB
	// keepBuffers is how many bytes of free buffers a loop keeps, over all classes.
	keepBuffers = 8 << 20
)

// buffers is a loop's own free lists of input buffers, by size class. Sizes are powers
// of two.
type buffers struct {
	free [bufferClasses][][]byte
	kept int // bytes in free
}

// sizeFor is the capacity of the buffer that get(n) returns.
func sizeFor(n int) int { return smallestBuffer << class(n) }

// sizeWithin is the capacity of the largest buffer that has at most n bytes; 0 if even
// the smallest has more.
func sizeWithin(n int) int {
	if n < smallestBuffer {
		return 0
	}
	return 1 << (bits.Len(uint(n)) - 1)
}

func class(n int) int {
	if n <= smallestBuffer {
		return 0
	}
	return bits.Len(uint((n - 1) / smallestBuffer))
}

// get returns an empty buffer with room for n bytes.
func (b *buffers) get(n int) []byte {
	if n <= largestBuffer {
		list := &b.free[class(n)]
		if last := len(*list) - 1; last >= 0 {
			buf := (*list)[last]
			*list = (*list)[:last]
			b.kept -= cap(buf)
			return buf
		}
	}
	return make([]byte, 0, sizeFor(n))
}

// put takes a buffer back; one that get didn't make, such as that of a claim, is left
// to the collector. Its bytes must not be touched afterwards.
func (b *buffers) put(buf []byte) {
	frame.Poison(buf)
	size := cap(buf)
	if size > largestBuffer || size != sizeFor(size) || b.kept+size > keepBuffers {
		return
	}
	list := &b.free[class(size)]
	*list = append(*list, buf[:0])
	b.kept += size
}
