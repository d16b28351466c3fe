package run

import (
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// Timer sleeps more exactly than package time: an idle Go program waits for its
// timers in whole milliseconds, which an open loop would have to report as late
// sends. A timer descriptor wakes it like a socket, within tens of
// microseconds. It is for one goroutine.
type Timer struct {
	fd   int
	file *os.File
	read [8]byte
}

// NewTimer returns a Timer.
func NewTimer() (Sleeper, error) {
	fd, err := unix.TimerfdCreate(unix.CLOCK_MONOTONIC, unix.TFD_NONBLOCK|unix.TFD_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("timer descriptor: %w", err)
	}
	return &Timer{fd: fd, file: os.NewFile(uintptr(fd), "timer")}, nil
}

// Sleep waits for d.
func (t *Timer) Sleep(d time.Duration) {
	if d <= 0 {
		return
	}
	at := unix.ItimerSpec{Value: unix.NsecToTimespec(int64(d))}
	if err := unix.TimerfdSettime(t.fd, 0, &at, nil); err != nil {
		panic("BUG: a timer descriptor does not take a time: " + err.Error())
	}
	if _, err := t.file.Read(t.read[:]); err != nil {
		panic("BUG: a timer descriptor can't be read: " + err.Error())
	}
}

// Close frees the descriptor.
func (t *Timer) Close() error { return t.file.Close() }
