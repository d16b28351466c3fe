package loop

import (
	"net/netip"
	"unsafe"

	"golang.org/x/sys/unix"
)

// datagrams is room for a batch of datagrams, and what the last read brought.
type datagrams struct {
	headers [DatagramBatch]mmsghdr
	vectors [DatagramBatch]unix.Iovec
	names   [DatagramBatch]unix.RawSockaddrInet6 // as long as any address of ours
	room    []byte
}

// mmsghdr is the kernel's struct of this name (recvmmsg(2)).
type mmsghdr struct {
	header unix.Msghdr
	length uint32
	_      [unsafe.Sizeof(uintptr(0)) - 4]byte
}

func newDatagrams() *datagrams {
	d := &datagrams{room: make([]byte, DatagramBatch*MaxDatagram)}
	for i := range d.headers {
		d.vectors[i].Base = &d.room[i*MaxDatagram]
		d.vectors[i].SetLen(MaxDatagram)
		h := &d.headers[i].header
		h.Iov = &d.vectors[i]
		h.SetIovlen(1)
		h.Name = (*byte)(unsafe.Pointer(&d.names[i]))
	}
	return d
}

// body returns the i-th datagram and whether it was longer than there is room.
func (d *datagrams) body(i int) (b []byte, truncated bool) {
	h := &d.headers[i]
	at := i * MaxDatagram
	return d.room[at : at+int(h.length)], h.header.Flags&unix.MSG_TRUNC != 0
}

// from returns the address that the i-th datagram came from.
func (d *datagrams) from(i int) netip.AddrPort {
	n := &d.names[i]
	port := n.Port<<8 | n.Port>>8 // from network order
	if n.Family == unix.AF_INET {
		v4 := (*unix.RawSockaddrInet4)(unsafe.Pointer(n))
		return netip.AddrPortFrom(netip.AddrFrom4(v4.Addr), port)
	}
	return netip.AddrPortFrom(netip.AddrFrom16(n.Addr).Unmap(), port)
}

// ReadDatagrams reads the datagrams that wait, up to a batch, without blocking.
func (linux) ReadDatagrams(fd int, d *datagrams) (int, error) {
	for i := range d.headers {
		d.headers[i].header.Namelen = uint32(unsafe.Sizeof(d.names[i])) // the kernel overwrites it
	}
	n, _, errno := unix.Syscall6(unix.SYS_RECVMMSG, uintptr(fd), uintptr(unsafe.Pointer(&d.headers[0])),
		DatagramBatch, unix.MSG_DONTWAIT, 0, 0)
	if errno != 0 {
		return 0, errno
	}
	return int(n), nil
}

// Drops returns how many datagrams the kernel dropped for want of room in the socket,
// since it was opened (sock_diag(7), SK_MEMINFO_DROPS).
func (linux) Drops(fd int) (uint32, error) {
	var info [9]uint32
	size := uint32(unsafe.Sizeof(info))
	_, _, errno := unix.Syscall6(unix.SYS_GETSOCKOPT, uintptr(fd), unix.SOL_SOCKET, unix.SO_MEMINFO,
		uintptr(unsafe.Pointer(&info)), uintptr(unsafe.Pointer(&size)), 0)
	if errno != 0 {
		return 0, errno
	}
	return info[8], nil
}
