package frame

import "time"

// Status is what a Worker says of a burst when it lets go of it.
type Status uint8

const (
	// Done: every frame is answered, or the burst is gone.
	Done Status = iota
	// Blocked: the window is full of replies, or the burst's turn is over and there
	// are some; the burst goes back to its loop with the frames that are left, and
	// is taken up again when there is room.
	Blocked
	// Yielded: one slice of a long frame is worked; others go first, then the
	// burst is taken up again, perhaps after its loop had it.
	Yielded
	// Waiting: the rest of the reply comes from elsewhere. The Worker has handed the
	// burst to whoever makes it, who calls Resume when there is more or the burst is
	// gone; nobody else touches it until then.
	Waiting
)

// Worker works the frames of bursts. It has scratch memory of its own, so each
// goroutine that works bursts has its own Worker.
type Worker interface {
	// Work answers the frames of b from b.Next on, in order, appending to
	// b.Out. It looks at b.Gone before each frame and slice, and is then Done. It
	// never blocks on a socket and keeps nothing of b after it returns, but what
	// it puts into b.Kept.
	Work(b *Burst) Status
}

// Protocol is all that distinguishes one way in from another.
type Protocol struct {
	// Name is the protocol's name in log lines and metrics.
	Name string
	// MaxFrame is the longest frame taken, without its header.
	MaxFrame Limit
	// Cut finds the whole frames at the head b of a stream: as many as have room
	// bytes together, but at least the first one. An error refuses the frame
	// behind those found. ended says that nothing follows b. It decodes and
	// allocates nothing, and is called by loops.
	Cut func(b []byte, max Limit, room int, ended bool, p *Progress) (Cut, error)
	// Unhurried says that the rest of a frame may come at any time, whatever timeout
	// there is for frames: for frames so short that the beginning of one costs about
	// as much as an idle connection.
	Unhurried bool
	// Brief says that loops may work small bursts themselves although there are handlers:
	// the Workers mind that a burst is Brief. Of such a one they answer frames only as
	// long as that takes about as little time as to hand them over, say Yielded in front
	// of the first that may take longer, and never Waiting. The handlers go on with it.
	Brief bool
	// IdleTimeout is how long a connection may rest between two frames; 0 is for
	// ever.
	IdleTimeout time.Duration
	// NewWorker makes a Worker; it is called once for each goroutine that
	// works bursts, before any burst is pushed.
	NewWorker func() Worker
	// Refuse appends the reply to a frame that Cut refused with err; after it
	// the connection is closed, lingering.
	Refuse func(dst []byte, err error) []byte
	// Refused is the kind under which a refused frame is reported, such as "refused Msg".
	Refused string
	// Describe says what err's bytes look like, for the log: the name of
	// another protocol that knocked at the wrong door, or "".
	Describe func(err error) string
	// Words are for the line that the start prints of each listener's path.
	Words Words
}

// Words say in a few words what a Protocol does.
type Words struct {
	Frame string // what is cut, such as "Msgs by their length"; of datagrams what is in each
	Work  string // what is done with it, such as "decode, apply"
	Reply string // what is written, such as "a reply for each"; "" is nothing, ever
}
