package datagram

import (
	"fmt"
	"net"
	"net/netip"
	"unsafe"

	"golang.org/x/sys/unix"
)

// batch is how many datagrams are sent or received in one call.
const batch = 64

// headers are the kernel's array of messages for sendmmsg(2) and recvmmsg(2).
type headers struct {
	messages [batch]struct {
		header unix.Msghdr
		length uint32
		_      [unsafe.Sizeof(uintptr(0)) - 4]byte
	}
	vectors [batch]unix.Iovec
}

func newHeaders() *headers {
	h := &headers{}
	for i := range h.messages {
		h.messages[i].header.Iov = &h.vectors[i]
		h.messages[i].header.SetIovlen(1)
	}
	return h
}

func (h *headers) point(i int, b []byte) {
	h.vectors[i].Base = &b[0]
	h.vectors[i].SetLen(len(b))
}

// call makes one of the two system calls for n messages, and returns for how many it
// was done.
func (h *headers) call(number uintptr, fd, n int, flags uintptr) (int, error) {
	done, _, errno := unix.Syscall6(number, uintptr(fd), uintptr(unsafe.Pointer(&h.messages[0])), uintptr(n), flags, 0, 0)
	if errno != 0 {
		return 0, errno
	}
	return int(done), nil
}

// sender is a connected UDP socket.
type sender struct {
	fd      int
	headers *headers
}

// openSender connects a socket to a server on loopback or elsewhere.
func openSender(address string) (*sender, error) {
	to, sa, err := resolve(address)
	if err != nil {
		return nil, err
	}
	fd, err := unix.Socket(to, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("open a UDP socket: %w", err)
	}
	if err := unix.Connect(fd, sa); err != nil {
		unix.Close(fd)
		return nil, fmt.Errorf("connect a UDP socket to %s: %w", address, err)
	}
	return &sender{fd, newHeaders()}, nil
}

// resolve returns the family and the socket address of a host:port.
func resolve(address string) (family int, sa unix.Sockaddr, err error) {
	udp, err := net.ResolveUDPAddr("udp", address)
	if err != nil {
		return 0, nil, err
	}
	ip, _ := netip.AddrFromSlice(udp.IP)
	if ip = ip.Unmap(); ip.Is4() {
		return unix.AF_INET, &unix.SockaddrInet4{Port: udp.Port, Addr: ip.As4()}, nil
	}
	return unix.AF_INET6, &unix.SockaddrInet6{Port: udp.Port, Addr: ip.As16()}, nil
}

// send sends frames of the same size, at most a batch, each without the header of so
// many bytes. It waits while the socket takes nothing.
func (s *sender) send(frames []byte, size, header int) error {
	n := len(frames) / size
	for i := range n {
		s.headers.point(i, frames[i*size+header:(i+1)*size])
	}
	for at := 0; at < n; {
		done, err := s.headers.call(unix.SYS_SENDMMSG, s.fd, n-at, 0)
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			return fmt.Errorf("send datagrams: %w", err)
		}
		at += done
		for i := at; i < n && done > 0; i++ { // the rest to the front
			s.headers.vectors[i-done] = s.headers.vectors[i]
		}
	}
	return nil
}

func (s *sender) close() error { return unix.Close(s.fd) }
