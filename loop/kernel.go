package loop

import (
	"net/netip"
	"time"
)

// kernel is all that a loop asks of the operating system about sockets and time.
// Errors are unix.Errno values. A fake stands in for it in tests, so that every
// outcome can be injected.
type kernel interface {
	Accept(listener int) (fd int, peer netip.AddrPort, err error)
	Read(fd int, p []byte) (int, error)
	Write(fd int, p []byte) (int, error)
	Writev(fd int, p [][]byte) (int, error)
	ReadDatagrams(fd int, d *datagrams) (int, error)
	Drops(fd int) (uint32, error)
	Unacked(fd int) int // bytes written that the peer has not acknowledged
	ShutdownWrite(fd int) error
	Error(fd int) error // the pending error of a socket, taken from it; nil if there is none
	Close(fd int) error
	Now() time.Time
}

// poller is all that a loop asks of its poller. Only the loop's goroutine calls
// it.
type poller interface {
	// Change moves a descriptor's registration from one interest to another.
	Change(fd int, from, to interest) error
	// Poll calls back for each event until the callback returns false. If others are at
	// work for the loop, which busy reports, they are let run before Poll waits for events.
	Poll(onEvent func(fd int, ev events) bool, busy func() bool) error
	Close() error
}

// interest is what a descriptor is registered for.
type interest uint8

const (
	absent    interest = iota // not registered
	watch                     // registered for errors and hang-ups alone
	read                      // readable
	write                     // writable
	readWrite                 // both
)

// events is what a poller reports of a descriptor. Any of them may be stale: the
// number may belong to another connection by now.
type events uint8

const (
	evReadable events = 1 << iota
	evWritable
	evHangup // an error or hang-up, to be confirmed by a read or by the socket's error
)
