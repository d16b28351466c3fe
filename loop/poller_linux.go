package loop

import (
	"errors"

	errorx "github.com/panjf2000/gnet/v2/pkg/errors"
	"github.com/panjf2000/gnet/v2/pkg/netpoll"
	"golang.org/x/sys/unix"
)

// epoll is gnet's poller with the interests that a loop needs.
type epoll struct{ *netpoll.Poller }

func openEpoll() (epoll, error) {
	p, err := netpoll.OpenPoller()
	return epoll{p}, err
}

// Change registers fd for another interest. The poller can modify a registration
// only to one that reads; to write alone, or to watch, is a delete and an add. To
// watch is to be told once, edge-triggered, that one can write, and later of an
// error or a hang-up.
func (p epoll) Change(fd int, from, to interest) error {
	if from == to {
		return nil
	}
	pa := &netpoll.PollAttachment{FD: fd}
	if from != absent && (to == read || to == readWrite) {
		if to == read {
			return p.ModRead(pa, false)
		}
		return p.ModReadWrite(pa, false)
	}
	if from != absent {
		if err := p.Delete(fd); err != nil {
			return err
		}
	}
	return p.add(pa, to)
}

func (p epoll) add(pa *netpoll.PollAttachment, to interest) error {
	switch to {
	case watch:
		return p.AddWrite(pa, true)
	case read:
		return p.AddRead(pa, false)
	case write:
		return p.AddWrite(pa, false)
	case readWrite:
		return p.AddReadWrite(pa, false)
	}
	return nil
}

// Poll runs until onEvent returns false: of the errors that a callback may return,
// the poller ends for this one alone.
func (p epoll) Poll(onEvent func(fd int, ev events) bool) error {
	err := p.Polling(func(fd int, ev netpoll.IOEvent, _ netpoll.IOFlags) error {
		if onEvent(fd, translate(uint32(ev))) {
			return nil
		}
		return errorx.ErrEngineShutdown
	})
	if errors.Is(err, errorx.ErrEngineShutdown) {
		return nil
	}
	return err
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
