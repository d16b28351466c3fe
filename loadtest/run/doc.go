// Package run drives the load: it opens the connections, keeps their requests
// going and gives each request exactly one outcome.
//
// Its types are Config; Outcome, what a run found; and inside: lane, one
// connection after another with the requests in flight on it, answered by one
// reading goroutine; pacer, which in the open loop deals out what is due; and
// observer, which makes intervals and samples of the run's time. In the closed
// loop a lane's reader sends the next requests itself, so a request costs no
// hand-over.
//
// A request's bytes are offered to the socket without waiting; only what does
// not fit is left to a goroutine that waits, so a reader never stops reading.
// Time is package time's alone, and connections come from a wire.Dial, so that
// tests put stubs in a bubble of fake time. The package never prints, and knows
// neither flags nor processes.
package run
