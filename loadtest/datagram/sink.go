package datagram

import (
	"fmt"
	"net/netip"
	"sync/atomic"

	"golang.org/x/sys/unix"
)

const (
	sinkBuffer  = 4 << 20 // bytes of its receive buffer that a Sink asks for
	longestSunk = 65_535  // bytes of a datagram
)

// Sink receives datagrams and forgets them: recvmmsg in a loop, and nothing else.
type Sink struct {
	fd       int
	headers  *headers
	received atomic.Int64
	closed   atomic.Bool
}

// glance is how often, at least, a Sink looks whether it is closed.
var glance = unix.Timeval{Usec: 100_000}

// OpenSink binds a Sink to an address.
func OpenSink(address string) (*Sink, error) {
	family, sa, err := resolve(address)
	if err != nil {
		return nil, err
	}
	fd, err := unix.Socket(family, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("open a UDP socket: %w", err)
	}
	s := &Sink{fd: fd, headers: newHeaders()}
	for i := range batch {
		s.headers.point(i, make([]byte, longestSunk))
	}
	err = unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_RCVBUF, sinkBuffer)
	if err == nil {
		err = unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &glance)
	}
	if err == nil {
		err = unix.Bind(fd, sa)
	}
	if err != nil {
		unix.Close(fd)
		return nil, fmt.Errorf("receive datagrams at %s: %w", address, err)
	}
	return s, nil
}

// Run receives until Close. It waits for one datagram and takes those that came with it.
func (s *Sink) Run() error {
	for !s.closed.Load() {
		n, err := s.headers.call(unix.SYS_RECVMMSG, s.fd, batch, unix.MSG_WAITFORONE)
		if err != nil && err != unix.EINTR && err != unix.EAGAIN {
			return fmt.Errorf("receive datagrams: %w", err)
		}
		s.received.Add(int64(n))
	}
	return unix.Close(s.fd)
}

// Close ends Run soon. Any goroutine may call it.
func (s *Sink) Close() { s.closed.Store(true) }

// Received is how many datagrams were received. Any goroutine may call it.
func (s *Sink) Received() int64 { return s.received.Load() }

// Address is where the Sink receives.
func (s *Sink) Address() (string, error) {
	sa, err := unix.Getsockname(s.fd)
	if err != nil {
		return "", err
	}
	switch sa := sa.(type) {
	case *unix.SockaddrInet4:
		return netip.AddrPortFrom(netip.AddrFrom4(sa.Addr), uint16(sa.Port)).String(), nil
	case *unix.SockaddrInet6:
		return netip.AddrPortFrom(netip.AddrFrom16(sa.Addr), uint16(sa.Port)).String(), nil
	}
	return "", fmt.Errorf("receive datagrams: the socket's address is of an unknown kind")
}
