package loop

import (
	"context"
	"fmt"
	"net"
	"time"

	"github.com/panjf2000/gnet/v2/pkg/socket"
	"golang.org/x/sys/unix"
)

// listener is one listening socket of a loop.
type listener struct {
	fd       int
	kind     int
	addr     net.Addr
	interest interest
}

// keepAlive finds dead peers: a connection that is silent for a minute is probed
// each 12 seconds, and closed after five probes without an answer.
const keepAlive = time.Minute

// option is a socket option in the form that the socket library takes.
type option = socket.Option[int]

// Listen opens a listening socket on addr for each loop, for connections that
// speak the protocol of this place in Config.Protocols, and returns the address with its
// real port. It is called before Start. The kernel spreads connections over the
// loops.
func (g *Group) Listen(addr string, kind int) (net.Addr, error) {
	if err := g.probe(addr); err != nil {
		return nil, err
	}
	var real net.Addr
	for _, l := range g.loops {
		fd, bound, err := socket.TCPSocket("tcp", addr, true, g.options(), nil)
		if err != nil {
			return nil, fmt.Errorf("listen %s: %w", addr, err)
		}
		if real == nil {
			if real, err = localAddr(fd, bound); err != nil {
				return nil, fmt.Errorf("listen %s: %w", addr, err)
			}
			addr = real.String()
		}
		l.listeners = append(l.listeners, &listener{fd: fd, kind: kind, addr: real})
	}
	return real, nil
}

// LookUp finds out whether the host of an address to listen on has an address of its own,
// as far as that can be known without listening. Any goroutine may call it.
func LookUp(ctx context.Context, addr string) error {
	host, _, err := net.SplitHostPort(addr)
	if err != nil || host == "" { // all addresses of the machine
		return err
	}
	_, err = net.DefaultResolver.LookupHost(ctx, host)
	return err
}

// probe binds the address without SO_REUSEPORT, which fails where anybody listens
// already: with it a second server would start without an error and take half of
// the connections.
func (g *Group) probe(addr string) error {
	reuse := []option{{SetSockOpt: socket.SetReuseAddr, Opt: 1}}
	fd, _, err := socket.TCPSocket("tcp", addr, true, reuse, nil)
	if err != nil {
		return fmt.Errorf("listen %s: %w", addr, err)
	}
	return unix.Close(fd)
}

// options are set on the listening socket; accepted ones inherit them (tcp(7)).
func (g *Group) options() []option {
	opts := []option{
		{SetSockOpt: socket.SetReuseAddr, Opt: 1},
		{SetSockOpt: socket.SetReuseport, Opt: 1},
		{SetSockOpt: socket.SetNoDelay, Opt: 1},
		{SetSockOpt: socket.SetKeepAlivePeriod, Opt: int(keepAlive.Seconds())},
	}
	if size := g.cfg.SocketBuffer; size > 0 {
		opts = append(opts,
			option{SetSockOpt: socket.SetRecvBuffer, Opt: size},
			option{SetSockOpt: socket.SetSendBuffer, Opt: size})
	}
	return opts
}

// localAddr is the address that a socket is bound to, with the port that the kernel
// chose.
func localAddr(fd int, asked net.Addr) (net.Addr, error) {
	sa, err := unix.Getsockname(fd)
	if err != nil {
		return asked, err
	}
	return net.TCPAddrFromAddrPort(addrPort(sa)), nil
}

// listener returns the listener with this descriptor, or nil.
func (l *Loop) listener(fd int) *listener {
	for _, ln := range l.listeners {
		if ln.fd == fd {
			return ln
		}
	}
	return nil
}

func (l *Loop) closeListener(ln *listener) {
	if err := l.kernel.Close(ln.fd); err != nil {
		l.cfg.Report("close", "", fmt.Sprintf("closing listener %s: %v", ln.addr, err))
	}
}
