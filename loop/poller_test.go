package loop

import (
	"testing"

	"golang.org/x/sys/unix"
)

// watched is a poller, and one end of a pair of sockets that has something to read and room
// to write. The poller's bell is rung, so that it never waits. The test closes the peer.
type watched struct {
	t        *testing.T
	poller   epoll
	fd, peer int
}

func newWatched(t *testing.T) *watched {
	t.Helper()
	poller, err := openEpoll()
	must(t, err)
	b, err := newBell()
	must(t, err)
	must(t, poller.Change(b.fd, absent, read))
	b.ring()
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_NONBLOCK, 0)
	must(t, err)
	_, err = unix.Write(pair[1], []byte("x"))
	must(t, err)
	t.Cleanup(func() {
		for _, fd := range []int{pair[0], b.fd, poller.fd} {
			must(t, unix.Close(fd))
		}
	})
	return &watched{t: t, poller: poller, fd: pair[0], peer: pair[1]}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// look returns what is reported of the socket now.
func (w *watched) look(busy bool) events {
	w.t.Helper()
	round := make([]unix.EpollEvent, 4)
	n, err := w.poller.wait(round, busy)
	must(w.t, err)
	for _, e := range round[:n] {
		if int(e.Fd) == w.fd {
			return translate(e.Events)
		}
	}
	return 0
}

// From each interest to each other, a poller reports what the last one is for: as long as it
// is so, but to who watches only once.
func TestInterests(t *testing.T) {
	first := map[interest]events{watch: evWritable, read: evReadable, write: evWritable, readWrite: evReadable | evWritable}
	for from := absent; from <= readWrite; from++ {
		for to := absent; to <= readWrite; to++ {
			w := newWatched(t)
			must(t, w.poller.Change(w.fd, absent, from))
			if from != to {
				w.look(false) // what was reported before is over
			}
			must(t, w.poller.Change(w.fd, from, to))
			again := first[to]
			if to == watch {
				again = 0
			}
			for i, want := range []events{first[to], again, again} {
				if got := w.look(i == 1); got != want {
					t.Errorf("from %d to %d, look %d: events %b; want %b", from, to, i+1, got, want)
				}
			}
			must(t, unix.Close(w.peer))
			if got := w.look(false); (got&evHangup != 0) != (to != absent) {
				t.Errorf("from %d to %d, the peer is gone: events %b", from, to, got)
			}
		}
	}
}
