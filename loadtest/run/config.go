package run

import (
	"time"

	"darboux/loadtest/pace"
	"darboux/loadtest/result"
	"darboux/loadtest/wire"
	"darboux/loadtest/workload"
)

// Limits of a Config.
const (
	MaxConnections = 100_000
	MaxPipeline    = 1 << 20 // requests outstanding on a connection
	MaxOutstanding = 1 << 20 // requests in flight in the open loop, and what 0 means
	MaxDuration    = 24 * time.Hour
)

// Config is one run. Its user has checked it.
type Config struct {
	Dial        wire.Dial
	Workload    *workload.Workload
	Book        *workload.Book // nil: not verified
	Connections int
	Pipeline    int   // closed loop: requests outstanding on each connection
	Open        *Open // nil: closed loop
	Warmup      time.Duration
	Duration    time.Duration // after the warm-up
	Count       int64         // requests after the warm-up; 0: no limit but Duration
	Timeout     time.Duration // of a request
	PerConn     int           // requests after which a connection is ended; 0: none
	HalfClose   bool          // end it by shutting down the sending side and reading on
	Side        *Side         // nil: none
	Stop        *Stop         // nil: the server is not told to stop

	// Sleeper returns a new Sleeper for each goroutine that keeps time.
	Sleeper func() (Sleeper, error)
	// Second sees each interval as it ends and may add to it; nil if nobody
	// wants to.
	Second func(s *result.Second)
	// Edge is called when the measured window begins and when it ends; it may
	// be nil.
	Edge func(begins bool)
}

// Sleeper waits for at least d, as exactly as it can. It is for one goroutine,
// and closed when that ends.
type Sleeper interface {
	Sleep(d time.Duration)
	Close() error
}

// Open says when the open loop's requests are due.
type Open struct {
	// Schedule returns the requests' times from the first on, the same ones at
	// each call.
	Schedule    func() *pace.Schedule
	Outstanding int // requests in flight at most; 0: MaxOutstanding
}

// Stop tells the server to stop while the load goes on.
type Stop struct {
	At     time.Duration // since the run's start
	Signal func()        // tells it, and does not wait
}

// Side are connections beside the measured ones that behave badly.
type Side struct {
	Kind        string // one of the Side kinds
	Connections int
	Requests    [][]byte // frames, sent in turns
	ReadRate    int      // bytes/s that a SlowReader reads
}

// The kinds of Side.
const (
	Flood      = "flood"       // writes and never reads
	SlowReader = "slow-reader" // reads at ReadRate
	SlowQuery  = "slow-query"  // asks one query after another
)
