package loop

import (
	"fmt"
	"net/netip"

	"golang.org/x/sys/unix"
)

// acceptRun is how many connections are accepted at a time, before others have
// their turn.
const acceptRun = 64

// accept takes in the connections that wait at a listener. It reports whether more
// may wait.
func (l *Loop) accept(ln *listener) bool {
	for range acceptRun {
		fd, peer, err := l.kernel.Accept(ln.fd)
		switch {
		case err == nil:
			l.admit(ln, fd, peer)
		case err == unix.EAGAIN:
			return false
		case err == unix.EINTR, err == unix.ECONNABORTED, err == unix.EPROTO:
			l.tally.add(acceptFailed, 1) // that one is gone; the next may wait
		default:
			l.acceptLater(err)
			return false
		}
	}
	return true
}

// acceptLater stops accepting after an error that the next call would meet again,
// such as a full descriptor table, until the next tick or a close: connections wait
// in the listeners' backlog meanwhile.
func (l *Loop) acceptLater(err error) {
	l.tally.add(acceptFailed, 1)
	l.cfg.Report("accept", "", fmt.Sprintf("accepting pauses: %v; the limit of open files may be too low (ulimit -n)", err))
	for _, ln := range l.listeners {
		l.listen(ln, absent)
	}
}

func (l *Loop) listen(ln *listener, to interest) {
	if ln.interest == to {
		return
	}
	if err := l.poller.Change(ln.fd, ln.interest, to); err != nil {
		l.cfg.Report("accept", "", fmt.Sprintf("listener %s: the poller refused it: %v", ln.addr, err))
		return // the next tick tries again
	}
	ln.interest = to
}

// retryAccept accepts again after acceptLater.
func (l *Loop) retryAccept() {
	for _, ln := range l.listeners {
		l.listen(ln, read)
	}
}

// roomForAccept accepts again after a close has freed a descriptor.
func (l *Loop) roomForAccept() {
	if !l.draining && !l.stopping {
		l.retryAccept()
	}
}

// admit makes a connection of an accepted descriptor, if there is room for it.
func (l *Loop) admit(ln *listener, fd int, peer netip.AddrPort) {
	l.tally.add(accepted, 1)
	c := &Conn{
		fd: fd, loop: l, kind: ln.kind, protocol: l.cfg.Protocols[ln.kind], peer: peer.String(),
		address: peer.Addr().String(), silent: true, reason: ended,
	}
	oldest, why := l.shared.enter(c, l.cfg)
	if why != "" {
		l.tally.add(acceptRefused, 1)
		l.cfg.Report("connection refused", c.peer, why)
		_ = l.kernel.Close(fd) // nothing was read or promised
		return
	}
	if oldest != nil {
		l.makeRoom(oldest)
	}
	l.tally.add(conns, 1)
	l.track(c)
	l.review(c)
}

// makeRoom closes a connection that was counted out for another one, or has its loop do so.
func (l *Loop) makeRoom(c *Conn) {
	if c.loop == l {
		l.close(c, madeRoom)
		return
	}
	l.shared.tellLeaving(c)
	c.loop.order(orderMakeRoom)
}

// track makes the loop know a connection by its descriptor.
func (l *Loop) track(c *Conn) {
	for c.fd >= len(l.conns) {
		l.conns = append(l.conns, make([]*Conn, max(64, len(l.conns)))...)
	}
	l.conns[c.fd] = c
}
