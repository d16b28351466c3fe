package loop

import (
	"math/rand/v2"
	"net/netip"
	"time"

	"golang.org/x/sys/unix"
)

// fakeKernel is a kernel whose sockets are slices and whose outcomes are drawn.
type fakeKernel struct {
	rnd     *rand.Rand
	odds    fakeOdds
	poller  *fakePoller
	sockets []*fakeSocket // by descriptor, lowest free first, as the system's
	backlog []*fakeSocket
	now     time.Time
	writes  int
}

// fakeOdds are the probabilities of outcomes, each once in so many calls; 0 is never.
type fakeOdds struct {
	shortRead, shortWrite, again, interrupted, reset, pipe, acceptFails int
}

// fakeSocket is one connection as the kernel sees it.
type fakeSocket struct {
	fd       int
	toServer []byte // sent by the client, not yet read
	eof      bool   // the client has shut down its sending side
	isReset  bool   // the client has reset the connection
	toClient []byte // written by the server, not yet read by the client
	room     int    // bytes that may lie in toClient
	shut     bool   // the server has shut down its sending side
	noMemory bool   // the kernel says that there is room, and takes nothing
	closed   bool   // the server has closed the descriptor
	received []byte // what the client has read
	ended    bool   // the client has read the end of stream
}

// listenerFD is the descriptor of the only listener.
const listenerFD = 1000

func (k *fakeKernel) happens(once int) bool { return once > 0 && k.rnd.IntN(once) == 0 }

// fails draws an error of a call on a socket.
func (k *fakeKernel) fails(s *fakeSocket, once int, reset unix.Errno) error {
	switch {
	case s.isReset:
		return unix.ECONNRESET
	case k.happens(k.odds.interrupted):
		return unix.EINTR
	case k.happens(k.odds.again):
		return unix.EAGAIN
	case k.happens(once):
		s.isReset = true
		return reset
	}
	return nil
}

func (k *fakeKernel) Accept(int) (int, netip.AddrPort, error) {
	if len(k.backlog) == 0 {
		return -1, netip.AddrPort{}, unix.EAGAIN
	}
	if k.happens(k.odds.acceptFails) {
		return -1, netip.AddrPort{}, []error{unix.EMFILE, unix.ENFILE, unix.ENOBUFS, unix.ENOMEM, unix.ECONNABORTED}[k.rnd.IntN(5)]
	}
	s := k.backlog[0]
	k.backlog = k.backlog[1:]
	s.fd = k.lowest()
	k.sockets[s.fd] = s
	return s.fd, netip.MustParseAddrPort("127.0.0.1:1"), nil
}

func (k *fakeKernel) lowest() int {
	for fd, s := range k.sockets {
		if fd > 20 && s == nil { // below are descriptors that the test process has
			return fd
		}
	}
	k.sockets = append(k.sockets, make([]*fakeSocket, 30)...)
	return k.lowest()
}

func (k *fakeKernel) Read(fd int, p []byte) (int, error) {
	s := k.sockets[fd]
	if err := k.fails(s, k.odds.reset, unix.ECONNRESET); err != nil {
		return 0, err
	}
	if len(s.toServer) == 0 {
		if s.eof {
			return 0, nil
		}
		return 0, unix.EAGAIN
	}
	n := min(len(p), len(s.toServer))
	if k.happens(k.odds.shortRead) {
		n = 1 + k.rnd.IntN(n)
	}
	copy(p, s.toServer[:n])
	s.toServer = s.toServer[n:]
	return n, nil
}

func (k *fakeKernel) Write(fd int, p []byte) (int, error) { return k.Writev(fd, [][]byte{p}) }

func (k *fakeKernel) Writev(fd int, p [][]byte) (int, error) {
	k.writes++
	s := k.sockets[fd]
	if err := k.fails(s, k.odds.pipe, unix.EPIPE); err != nil {
		return 0, err
	}
	n := 0
	for _, b := range p {
		n += len(b)
	}
	n = min(n, s.room-len(s.toClient))
	if n <= 0 || s.noMemory {
		return 0, unix.EAGAIN
	}
	if k.happens(k.odds.shortWrite) {
		n = 1 + k.rnd.IntN(n)
	}
	left := n
	for _, b := range p {
		part := min(left, len(b))
		s.toClient = append(s.toClient, b[:part]...)
		left -= part
	}
	return n, nil
}

func (k *fakeKernel) ReadDatagrams(int, *datagrams) (int, error) { return 0, unix.EAGAIN }

func (k *fakeKernel) Drops(int) (uint32, error) { return 0, nil }

func (k *fakeKernel) Unacked(fd int) int { return len(k.sockets[fd].toClient) }

func (k *fakeKernel) ShutdownWrite(fd int) error {
	s := k.sockets[fd]
	if s.isReset {
		return unix.ENOTCONN
	}
	s.shut = true
	return nil
}

func (k *fakeKernel) Error(fd int) error {
	if k.sockets[fd].isReset {
		return unix.ECONNRESET
	}
	return nil
}

func (k *fakeKernel) Close(fd int) error {
	if fd == listenerFD {
		return nil
	}
	s := k.sockets[fd]
	if len(s.toServer) > 0 {
		s.isReset, s.toClient = true, nil // a reset destroys what is on its way
	}
	s.closed = true
	k.sockets[fd] = nil
	delete(k.poller.interests, fd)
	return nil
}

func (k *fakeKernel) Now() time.Time { return k.now }

// fakePoller only notes what is registered, and holds the loop to its promises.
type fakePoller struct{ interests map[int]interest }

func (p *fakePoller) Change(fd int, from, to interest) error {
	if p.interests[fd] != from {
		panic("the loop is wrong about what is registered")
	}
	p.interests[fd] = to
	return nil
}

func (p *fakePoller) Poll(func(int, events) bool, func() bool) error {
	panic("the test delivers the events")
}

func (p *fakePoller) Close() error { return nil }

// due returns what a level-triggered poller would report of a socket.
func (p *fakePoller) due(s *fakeSocket) events {
	var ev events
	in := p.interests[s.fd]
	if (in == read || in == readWrite) && (len(s.toServer) > 0 || s.eof || s.isReset) {
		ev |= evReadable
	}
	if (in == write || in == readWrite) && len(s.toClient) < s.room {
		ev |= evWritable
	}
	if in != absent && s.isReset {
		ev |= evHangup
	}
	return ev
}
