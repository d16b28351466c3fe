package loop

import (
	"net/netip"
	"time"

	"github.com/panjf2000/gnet/v2/pkg/socket"
	"golang.org/x/sys/unix"
)

// linux is the kernel itself.
type linux struct{}

func (linux) Accept(listener int) (int, netip.AddrPort, error) {
	fd, sa, err := socket.Accept(listener)
	if err != nil {
		return -1, netip.AddrPort{}, errno(err)
	}
	return fd, addrPort(sa), nil
}

func (linux) Read(fd int, p []byte) (int, error) { return unix.Read(fd, p) }

func (linux) Write(fd int, p []byte) (int, error) { return unix.Write(fd, p) }

func (linux) Writev(fd int, p [][]byte) (int, error) { return unix.Writev(fd, p) }

func (linux) Unacked(fd int) int {
	n, err := unix.IoctlGetInt(fd, unix.SIOCOUTQ) // tcp(7)
	if err != nil {
		return 0 // it is no TCP socket, or gone: what was written counts
	}
	return n
}

func (linux) ShutdownWrite(fd int) error { return unix.Shutdown(fd, unix.SHUT_WR) }

func (linux) Error(fd int) error {
	n, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_ERROR)
	if err != nil {
		return err
	}
	if n != 0 {
		return unix.Errno(n)
	}
	return nil
}

func (linux) Close(fd int) error { return unix.Close(fd) }

// started is the time from which on Now counts.
var started = time.Now()

// Now is the time by the clock that no one sets alone, for half the price of time.Now, which
// reads two.
func (linux) Now() time.Time { return started.Add(time.Since(started)) }

// addrPort converts a peer's address; an IPv4 address that came through an IPv6
// socket is shown as IPv4.
func addrPort(sa unix.Sockaddr) netip.AddrPort {
	switch sa := sa.(type) {
	case *unix.SockaddrInet4:
		return netip.AddrPortFrom(netip.AddrFrom4(sa.Addr), uint16(sa.Port))
	case *unix.SockaddrInet6:
		return netip.AddrPortFrom(netip.AddrFrom16(sa.Addr).Unmap(), uint16(sa.Port))
	}
	return netip.AddrPort{}
}
