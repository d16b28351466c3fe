// Package loop does all socket I/O of the daemon: listeners, connections, reads,
// writes, pausing and resuming, timeouts and closing.
//
// A Group is the loops of a server. A Loop is one poller, one goroutine and the
// connections it accepted; nobody else ever reads, writes or closes them, so
// nothing here needs a mutex. A Conn is one accepted connection: a state, what it
// has received and not yet handed over, and the replies that the kernel has not
// taken yet.
//
// A loop cuts what it reads into frames, hands the whole frames of a connection as
// one burst to the handlers, and writes the replies when the burst comes back. It
// never decodes a frame, never waits for anything but its poller, and holds no
// byte that is not counted in a budget.
package loop
