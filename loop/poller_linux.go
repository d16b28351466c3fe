package loop

import (
	"errors"
	"runtime"

	"golang.org/x/sys/unix"
)

// epoll is a poller by epoll(7).
type epoll struct{ fd int }

func openEpoll() (epoll, error) {
	fd, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	return epoll{fd}, err
}

func (p epoll) Close() error { return unix.Close(p.fd) }

// masks are what a descriptor is registered for by its interest. To watch is to be told
// once, edge-triggered, that one can write, and later of an error or a hang-up.
var masks = [...]uint32{
	watch:     unix.EPOLLOUT | unix.EPOLLRDHUP | unix.EPOLLET,
	read:      unix.EPOLLIN | unix.EPOLLPRI,
	write:     unix.EPOLLOUT,
	readWrite: unix.EPOLLIN | unix.EPOLLPRI | unix.EPOLLOUT,
}

// Change registers fd for another interest.
func (p epoll) Change(fd int, from, to interest) error {
	op := unix.EPOLL_CTL_MOD
	switch {
	case from == to:
		return nil
	case from == absent:
		op = unix.EPOLL_CTL_ADD
	case to == absent:
		op = unix.EPOLL_CTL_DEL
	}
	return unix.EpollCtl(p.fd, op, fd, &unix.EpollEvent{Fd: int32(fd), Events: masks[to]})
}

// roundSize is how many events are taken at a time.
const roundSize = 256

// Poll runs until onEvent returns false.
func (p epoll) Poll(onEvent func(fd int, ev events) bool, busy func() bool) error {
	round := make([]unix.EpollEvent, roundSize)
	for {
		n, err := p.wait(round, busy())
		if err != nil && err != unix.EINTR {
			return err
		}
		for i := range max(0, n) {
			if !onEvent(int(round[i].Fd), translate(round[i].Events)) {
				return nil
			}
		}
	}
}

// wait waits for events. The Go scheduler doesn't know that it does, and gives its processor
// to others only after a while; so where others are busy for the loop they are let run first.
// That costs more than a call of the system, so it isn't done without need.
func (p epoll) wait(round []unix.EpollEvent, busy bool) (int, error) {
	if busy {
		if n, err := unix.EpollWait(p.fd, round, 0); n != 0 {
			return n, err
		}
		runtime.Gosched()
	}
	return unix.EpollWait(p.fd, round, -1)
}

func translate(ev uint32) events {
	var e events
	if ev&(unix.EPOLLIN|unix.EPOLLPRI|unix.EPOLLRDHUP) != 0 {
		e |= evReadable
	}
	if ev&unix.EPOLLOUT != 0 {
		e |= evWritable
	}
	if ev&(unix.EPOLLERR|unix.EPOLLHUP) != 0 {
		e |= evHangup
	}
	return e
}

// errno finds the system's error number in what a library wrapped around it.
func errno(err error) error {
	var n unix.Errno
	if errors.As(err, &n) {
		return n
	}
	return err
}
