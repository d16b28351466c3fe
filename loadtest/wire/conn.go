// Package wire is the load client's end of a connection: Conn, the seam behind
// which a test puts a stub of known service time; TCP, the real one; and
// Replies, which cuts the answers by their lengths and looks at nothing of them
// but ok. It never decodes an event and keeps no time.
package wire

import (
	"context"
	"fmt"
	"net"
	"syscall"
	"time"
)

// Conn is one connection to a server. One goroutine may read while another
// writes; Close may be called from any and ends both.
type Conn interface {
	Read(b []byte) (int, error)
	// Write returns when all of b is taken, or with an error.
	Write(b []byte) (int, error)
	// TryWrite gives what can be taken without waiting: n may be 0.
	TryWrite(b []byte) (n int, err error)
	// CloseWrite shuts down the sending side.
	CloseWrite() error
	Close() error
}

// Dial opens a connection.
type Dial func(ctx context.Context) (Conn, error)

// DialTCP returns a Dial to addr that gives up after timeout.
func DialTCP(addr string, timeout time.Duration) Dial {
	dialer := net.Dialer{Timeout: timeout}
	return func(ctx context.Context) (Conn, error) {
		c, err := dialer.DialContext(ctx, "tcp", addr)
		if err != nil {
			return nil, err
		}
		return newTCP(c.(*net.TCPConn))
	}
}

// tcp adds a write that never waits to a connection of package net.
type tcp struct {
	*net.TCPConn
	raw syscall.RawConn
	// What goes in and out of attempt, which is made once so that a try
	// allocates nothing.
	attempt func(fd uintptr) bool
	b       []byte
	n       int
	err     error
}

func newTCP(c *net.TCPConn) (*tcp, error) {
	raw, err := c.SyscallConn()
	if err != nil {
		c.Close()
		return nil, fmt.Errorf("raw connection: %w", err)
	}
	t := &tcp{TCPConn: c, raw: raw}
	t.attempt = func(fd uintptr) bool {
		for {
			t.n, t.err = syscall.Write(int(fd), t.b)
			if t.err != syscall.EINTR {
				return true
			}
		}
	}
	return t, nil
}

// TryWrite must not run beside another write of the same connection.
func (t *tcp) TryWrite(b []byte) (int, error) {
	t.b = b
	err := t.raw.Write(t.attempt)
	t.b = nil
	switch {
	case err != nil:
		return 0, err
	case t.err == syscall.EAGAIN:
		return 0, nil
	case t.err != nil:
		return 0, &net.OpError{Op: "write", Net: "tcp", Addr: t.RemoteAddr(), Err: t.err}
	}
	return t.n, nil
}
