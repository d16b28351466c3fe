package loop

import (
	"encoding/binary"
	"fmt"
	"net"

	"github.com/panjf2000/gnet/v2/pkg/socket"
	"golang.org/x/sys/unix"

	"darboux/frame"
)

// A UDP socket is a connection like any other with one burst out, filled with the
// datagrams that wait; each stands in the burst as a frame with its length in front.
// While the burst is out nothing is read: what does not fit into the kernel's receive
// buffer the kernel drops, and nobody else.

// ListenDatagrams opens a UDP socket on addr for each loop, for datagrams of the
// protocol of this place in Config.Protocols, with a receive buffer of so many bytes
// each. It returns the address with its real port and the buffer that the kernel
// granted. It is called before Start.
func (g *Group) ListenDatagrams(addr string, kind, buffer int) (real net.Addr, granted int, err error) {
	fd, _, err := socket.UDPSocket("udp", addr, false, nil, nil)
	if err != nil {
		return nil, 0, fmt.Errorf("listen udp %s: %w", addr, err) // without SO_REUSEPORT: somebody else has it
	}
	if err := unix.Close(fd); err != nil {
		return nil, 0, fmt.Errorf("listen udp %s: %w", addr, err)
	}
	options := []option{
		{SetSockOpt: socket.SetReuseport, Opt: 1},
		{SetSockOpt: socket.SetRecvBuffer, Opt: buffer},
	}
	for _, l := range g.loops {
		fd, bound, err := socket.UDPSocket("udp", addr, false, options, nil)
		if err != nil {
			return nil, 0, fmt.Errorf("listen udp %s: %w", addr, err)
		}
		if real == nil {
			if real, err = localUDPAddr(fd, bound); err != nil {
				return nil, 0, fmt.Errorf("listen udp %s: %w", addr, err)
			}
			addr = real.String()
		}
		if granted, err = unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_RCVBUF); err != nil {
			return nil, 0, fmt.Errorf("listen udp %s: %w", addr, err)
		}
		l.sockets = append(l.sockets, &Conn{
			fd: fd, kind: kind, protocol: g.cfg.Protocols[kind], peer: "udp " + addr, reason: ended, datagrams: true,
		})
	}
	return real, granted / 2, nil // the kernel doubles it for its own needs (socket(7))
}

func localUDPAddr(fd int, asked net.Addr) (net.Addr, error) {
	sa, err := unix.Getsockname(fd)
	if err != nil {
		return asked, err
	}
	return net.UDPAddrFromAddrPort(addrPort(sa)), nil
}

// openSockets begins to read the UDP sockets.
func (l *Loop) openSockets() {
	for _, c := range l.sockets {
		if l.batch == nil {
			l.batch = newDatagrams()
		}
		l.tally.add(sockets, 1)
		l.track(c)
		l.review(c)
	}
}

// receive makes a burst of the datagrams that wait, if none is out; of all that wait,
// one after the other, if the socket is to be closed and the loop works them itself.
func (l *Loop) receive(c *Conn) {
	for l.receiveBatch(c) && c.state == finishing {
	}
	if c.state != closed {
		l.review(c)
	}
}

// receiveBatch reads once, or goes on with the burst that yielded, and reports whether
// there was something to work.
func (l *Loop) receiveBatch(c *Conn) bool {
	if c.where == out || c.state == closed || c.places[forTurn] != nil || !l.takeCredit(c) {
		return false
	}
	if c.burst != nil {
		l.push(c, false)
		return true
	}
	n, err := l.kernel.ReadDatagrams(c.fd, l.batch)
	l.tally.add(reads, 1)
	if n == 0 {
		l.returnCredit()
		l.noDatagrams(c, err)
		return false
	}
	l.fillDatagrams(c, n)
	l.push(c, false)
	return true
}

// noDatagrams handles a read that brought nothing.
func (l *Loop) noDatagrams(c *Conn, err error) {
	if c.state == finishing {
		l.close(c, c.reason)
		return
	}
	if err != nil && !again(err) {
		l.cfg.Report("udp", c.peer, fmt.Sprintf("reading datagrams: %v", err)) // such as a peer's ICMP error: the socket goes on
	}
}

// fillDatagrams makes a burst of the n datagrams of the batch.
func (l *Loop) fillDatagrams(c *Conn, n int) {
	size := n * frame.HeaderLen
	for i := range n {
		size += int(l.batch.headers[i].length)
	}
	b := l.newBurst()
	b.Peer, b.Kind, b.Home, b.Owner = c.peer, c.kind, l, c.fd
	b.Store = l.buffers.get(size)
	b.From = b.From[:0]
	for i := range n {
		body, truncated := l.batch.body(i)
		if truncated {
			l.tally.add(datagramsTruncated, 1)
		}
		b.Store = binary.BigEndian.AppendUint32(b.Store, uint32(len(body)))
		b.Store = append(b.Store, body...)
		b.From = append(b.From, l.batch.from(i))
		l.tally.add(bytesRead, len(body))
	}
	b.In = b.Store
	l.hold(c, cap(b.Store))
	l.tally.add(framesCut, n)
	l.tally.add(datagramsReceived, n)
	c.burst = b
}

// countDrops publishes what the kernel dropped of the loop's UDP sockets.
func (l *Loop) countDrops() {
	for _, c := range l.sockets {
		if c.state == closed {
			continue
		}
		if n, err := l.kernel.Drops(c.fd); err == nil { // a kernel that can't tell leaves the gauge at 0
			l.tally.add(datagramsDropped, int(n-c.drops)) // the kernel's counter may wrap
			c.drops = n
		}
	}
}
