// Package frame is what passes between a loop and a handler: frames cut from a
// byte stream, Bursts of them, the Rings that carry bursts, and the buffers and
// budgets behind them.
//
// A Frame is one request as cut from a stream (or one datagram); it has no type
// of its own, because nothing here decodes it. A Burst is the whole frames that
// one connection had ready, with room for their replies; it is the unit of
// hand-over. A Ring is a bounded lock-free queue. A Protocol says how a stream
// is cut and who works its frames. A Reserve is a budget of bytes with a line of
// those who wait for it.
//
// The package does no I/O, reads no clock and imports nothing else of Darboux.
package frame
