package stub

import (
	"io"
	"net"
	"sync"
)

// pipe is one direction of a connection: bytes in a buffer of a fixed size.
type pipe struct {
	mu     sync.Mutex
	change sync.Cond
	size   int
	buffer []byte
	ended  bool // the writer has ended: what is in the buffer is still read
	closed bool // nothing is read or written any more
}

func newPipe(size int) *pipe {
	p := &pipe{size: size}
	p.change.L = &p.mu
	return p
}

// Read waits for bytes, the end, or the closing.
func (p *pipe) Read(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for len(p.buffer) == 0 && !p.ended && !p.closed {
		p.change.Wait()
	}
	if p.closed {
		return 0, net.ErrClosed
	}
	if len(p.buffer) == 0 {
		return 0, io.EOF
	}
	n := copy(b, p.buffer)
	p.buffer = append(p.buffer[:0], p.buffer[n:]...)
	p.change.Broadcast()
	return n, nil
}

// Write waits until all of b is in the buffer.
func (p *pipe) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	done := 0
	for done < len(b) {
		n, err := p.put(b[done:])
		done += n
		if err != nil {
			return done, err
		}
		if n == 0 {
			p.change.Wait()
		}
	}
	return done, nil
}

// try puts what there is room for.
func (p *pipe) try(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.put(b)
}

func (p *pipe) put(b []byte) (int, error) {
	if p.closed || p.ended {
		return 0, net.ErrClosed
	}
	n := min(len(b), p.size-len(p.buffer))
	if n > 0 {
		p.buffer = append(p.buffer, b[:n]...)
		p.change.Broadcast()
	}
	return n, nil
}

func (p *pipe) end() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.ended = true
	p.change.Broadcast()
}

func (p *pipe) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	p.change.Broadcast()
}
