// Package stub is a server of known behaviour behind connections in memory. It
// lives by package time alone, so tests run it in a bubble of fake time, where
// a service time is exact and nothing else takes any.
package stub

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"sync"
	"time"

	"darboux/loadtest/wire"
)

// Sleeper sleeps by package time, so in a bubble by fake time.
type Sleeper struct{}

// Sleep waits for d.
func (Sleeper) Sleep(d time.Duration) { time.Sleep(d) }

// Close does nothing.
func (Sleeper) Close() error { return nil }

// Ack is the answer ok=true.
var Ack = []byte{0, 0, 0, 2, 0x10, 1}

// Request is one frame as the server got it.
type Request struct {
	Connection int // numbered from 0 in the order of dialing
	Number     int // on that connection, from 0
	Body       []byte
}

// Answer is what the server does about a request: it waits, writes, and may
// then end the connection. Replies of a connection keep the order of its
// requests.
type Answer struct {
	After time.Duration
	Reply []byte // nil: none
	Close bool
}

// Server answers each request by Serve. Its other fields are optional.
type Server struct {
	Serve  func(Request) Answer
	Refuse func(connection int) error // what a dial meets
	Buffer int                        // bytes that each direction of a connection holds; 0: 1 MiB
	// OnEOF is called when the client has shut down its sending side; closed is
	// closed when the client closes the connection.
	OnEOF func(connection int, closed <-chan struct{})

	mu    sync.Mutex
	conns int
}

// Dial is a wire.Dial.
func (s *Server) Dial(context.Context) (wire.Conn, error) {
	s.mu.Lock()
	number := s.conns
	s.conns++
	s.mu.Unlock()
	if s.Refuse != nil {
		if err := s.Refuse(number); err != nil {
			return nil, err
		}
	}
	size := s.Buffer
	if size == 0 {
		size = 1 << 20
	}
	c := &conn{in: newPipe(size), out: newPipe(size), closed: make(chan struct{})}
	go s.serve(number, c)
	return c, nil
}

// Dials is how often Dial was called.
func (s *Server) Dials() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.conns
}

func (s *Server) serve(number int, c *conn) {
	defer c.in.end()
	for n := 0; ; n++ {
		var header [4]byte
		if _, err := io.ReadFull(c.out, header[:]); err != nil {
			if s.OnEOF != nil && errors.Is(err, io.EOF) {
				s.OnEOF(number, c.closed)
			}
			return
		}
		body := make([]byte, binary.BigEndian.Uint32(header[:]))
		if _, err := io.ReadFull(c.out, body); err != nil {
			return
		}
		answer := s.Serve(Request{number, n, body})
		if !c.sleep(answer.After) {
			return
		}
		if _, err := c.in.Write(answer.Reply); err != nil || answer.Close {
			c.out.close()
			return
		}
	}
}

// conn is the client's end.
type conn struct {
	in, out *pipe
	once    sync.Once
	closed  chan struct{} // closed by Close
}

// sleep is the server's; it ends early, with false, when the client closes.
func (c *conn) sleep(d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-c.closed:
		return false
	}
}

func (c *conn) Read(b []byte) (int, error)     { return c.in.Read(b) }
func (c *conn) Write(b []byte) (int, error)    { return c.out.Write(b) }
func (c *conn) TryWrite(b []byte) (int, error) { return c.out.try(b) }

func (c *conn) CloseWrite() error {
	c.out.end()
	return nil
}

func (c *conn) Close() error {
	c.once.Do(func() { close(c.closed) })
	c.in.close()
	c.out.close()
	return nil
}
