package main

import (
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"golang.org/x/sys/unix"
)

// The daemon's own end of an accepted connection, looked at in its process, has
// TCP_NODELAY and keepalive on.
func TestAcceptedSocketsHaveTheirOptions(t *testing.T) {
	d := start(t)
	c := dial(t, d.addr)
	c.send(event("options", 1))
	fd := theirEnd(t, d.cmd.Process.Pid, c.LocalAddr())
	for _, option := range []struct {
		name        string
		level, what int
	}{
		{"TCP_NODELAY", unix.IPPROTO_TCP, unix.TCP_NODELAY},
		{"SO_KEEPALIVE", unix.SOL_SOCKET, unix.SO_KEEPALIVE},
	} {
		if on, err := unix.GetsockoptInt(fd, option.level, option.what); err != nil || on == 0 {
			t.Errorf("%s reads back as %d, %v, want it on", option.name, on, err)
		}
	}
}

// theirEnd returns a copy of the descriptor by which a process holds its end of the
// connection that has the address peer at ours.
func theirEnd(t *testing.T, pid int, peer net.Addr) int {
	t.Helper()
	process, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(process)
	numbers, err := os.ReadDir(filepath.Join("/proc", strconv.Itoa(pid), "fd"))
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range numbers {
		number, err := strconv.Atoi(n.Name())
		if err != nil {
			t.Fatal(err)
		}
		fd, err := unix.PidfdGetfd(process, number, 0)
		if err != nil {
			t.Fatalf("look at descriptor %d of the daemon: %v", number, err)
		}
		if peerOf(fd) == peer.String() {
			t.Cleanup(func() { unix.Close(fd) })
			return fd
		}
		unix.Close(fd)
	}
	t.Fatalf("the daemon holds no connection to %s", peer)
	return -1
}

// peerOf names the other end of a TCP socket over IPv4; empty if fd is none.
func peerOf(fd int) string {
	address, err := unix.Getpeername(fd)
	v4, ok := address.(*unix.SockaddrInet4)
	if err != nil || !ok {
		return ""
	}
	return netip.AddrPortFrom(netip.AddrFrom4(v4.Addr), uint16(v4.Port)).String()
}
