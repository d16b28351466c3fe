package loop

import (
	"encoding/binary"
	"sync/atomic"

	"golang.org/x/sys/unix"
)

// bell wakes a loop from another goroutine. It is a descriptor of the loop's
// poller, so a wake is an event like any other and allocates nothing. However
// often it is rung, one wake is on its way.
type bell struct {
	fd   int
	rung atomic.Bool // true exactly while a wake is sent and not yet received
}

func newBell() (*bell, error) {
	fd, err := unix.Eventfd(0, unix.EFD_NONBLOCK|unix.EFD_CLOEXEC)
	return &bell{fd: fd}, err
}

// ring wakes the loop, after the caller has made visible what there is to do.
func (b *bell) ring() {
	if !b.rung.CompareAndSwap(false, true) {
		return
	}
	var one [8]byte
	binary.NativeEndian.PutUint64(one[:], 1)
	if _, err := unix.Write(b.fd, one[:]); err != nil {
		panic("BUG: a loop's bell is closed while somebody rings: " + err.Error())
	}
}

// heard takes the wake. The loop calls it before it looks for what there is to do,
// so that what comes afterwards rings again. A stale event finds nothing to read,
// which is no error.
func (b *bell) heard() {
	var count [8]byte
	_, _ = unix.Read(b.fd, count[:])
	b.rung.Store(false)
}

func (b *bell) close() error { return unix.Close(b.fd) }
