package loop

import (
	"time"

	"golang.org/x/sys/unix"
)

// tickEvery is how often a loop looks at its deadlines: fine enough for limits of
// seconds, rare enough to cost nothing.
const tickEvery = 250 * time.Millisecond

// newTicker opens a descriptor that becomes readable at every tick.
func newTicker() (int, error) {
	fd, err := unix.TimerfdCreate(unix.CLOCK_MONOTONIC, unix.TFD_NONBLOCK|unix.TFD_CLOEXEC)
	if err != nil {
		return -1, err
	}
	every := unix.NsecToTimespec(tickEvery.Nanoseconds())
	if err := unix.TimerfdSettime(fd, 0, &unix.ItimerSpec{Interval: every, Value: every}, nil); err != nil {
		_ = unix.Close(fd) // the error that counts is the one above
		return -1, err
	}
	return fd, nil
}

// ticked takes the tick. A stale event finds nothing to read, which is no error.
func ticked(fd int) {
	var count [8]byte
	_, _ = unix.Read(fd, count[:])
}
