package loop

import (
	"container/list"
	"time"

	"darboux/frame"
)

// state is where a connection stands in its life; it only goes forward.
type state uint8

const (
	// open: requests are read, worked and answered.
	open state = iota
	// finishing: nothing more is read, because the peer has ended its stream, or
	// we want to close. The whole frames received are still worked, and their
	// replies go out.
	finishing
	// lingering: all replies are with the kernel and our sending side is shut
	// down; what still comes is read and discarded, because closing a socket with
	// unread bytes sends a reset, which destroys the last reply on its way.
	lingering
	// closed: the descriptor is gone.
	closed
)

// reasons is the set of reasons for which a connection is not read.
type reasons uint8

const (
	ownBudget reasons = 1 << iota // it holds what a connection may hold
	memory                        // its loop's share or the reserve has no room
	window                        // too many reply bytes wait for the kernel
)

// line is one of the lines in which connections wait for their loop.
type line uint8

const (
	forCredit  line = iota // a burst is ready, all credits are out
	forPiece               // likewise, and it goes on in the middle of a reply
	forMemory              // more could be read, memory is used up
	forReserve             // a frame larger than the connection's budget has begun
	forTurn                // a burst worked on the loop goes on when others had their turn
	lines
)

// whereabouts is where a connection's burst is.
type whereabouts uint8

const (
	none      whereabouts = iota // there is no burst
	out                          // with the handlers, holding a credit
	blocked                      // here, with frames left, until the window has room
	suspended                    // here, in the middle of a frame that is worked in slices, because others go first
)

// Conn is one accepted connection. Only its loop's goroutine touches it, but for its
// presence, which all loops count.
type Conn struct {
	fd       int
	loop     *Loop // never changes; any goroutine may read it
	kind     int
	protocol *frame.Protocol
	peer     string
	address  string // the peer's address without its port
	promised int    // bytes kept free for its next burst; see promise
	silent   bool   // true exactly until the first frame has come
	presence presence

	state    state
	paused   reasons
	interest interest
	eof      bool        // true exactly when the peer has ended its stream
	reason   closeReason // why it will be closed, once it is finishing
	refusal  error       // why a frame was refused, until the refusal is among the replies

	in       []byte // received and not yet in a burst, from inOff on; the buffer is held
	inOff    int
	need     int            // length of the frame at the head of in, header included, when it was last seen incomplete; else 0
	claim    *frame.Claim   // what that frame asks, or has got, of the reserve
	reserved bool           // true exactly when in is the buffer that the claim was granted for
	progress frame.Progress // of the cut of what is unread
	partial  bool           // true exactly when what is unread was found to be the beginning of a frame
	burst    *frame.Burst
	where    whereabouts

	replies []frame.Reply // what the kernel has not taken, at most a few
	unsent  int           // bytes in replies
	full    bool          // true exactly when the kernel would not take more
	told    bool          // true exactly while the event at hand says that the kernel takes more
	stalled bool          // the kernel said so and took nothing: it is not asked again before the next tick

	short     int // bytes that it waits for in the line for memory
	held      int // bytes counted for this connection: in, the burst's frames, unsent
	places    [lines]*list.Element
	datagrams bool   // it is a UDP socket
	drops     uint32 // datagrams that the kernel dropped, as last seen

	watched int // place in the loop's list of those with a deadline, from 1; 0 is none

	rests      time.Time // since when nothing is under way, at the latest
	lastRead   time.Time
	receiving  pace
	holding    pace // while it is up to the peer that it holds room of the reserve, and others wait for that
	sending    pace
	written    int // bytes that the kernel took, in all
	acked      int // of them, what the peer had acknowledged when that was looked at last
	awaited    int // of them, what it is to acknowledge before its time begins anew
	lingerEnd  time.Time
	discarding int // bytes that lingering still discards
}

// unread returns what is received and not yet in a burst.
func (c *Conn) unread() []byte { return c.in[c.inOff:] }

// reading reports whether the connection's requests are to be read.
func (c *Conn) reading() bool { return c.state == open && c.paused == 0 }

// busy reports whether something of the connection is in front of what is unread: a burst
// or replies.
func (c *Conn) busy() bool { return c.burst != nil || c.unsent > 0 }

// occupies is how many bytes of the reserve the connection holds as long as its peer likes:
// for a frame that is to come, or for a reply that is to be taken.
func (c *Conn) occupies() int {
	switch {
	case c.reserved && c.partial && c.reading():
		return c.claim.Bytes
	case c.where == blocked && c.unsent > 0:
		return c.burst.Room()
	}
	return 0
}

// incomplete reports whether the peer owes the rest of a frame in time, with nothing
// in front of it.
func (c *Conn) incomplete() bool {
	return c.partial && !c.protocol.Unhurried && c.burst == nil && len(c.unread()) > 0
}

// resting reports whether nothing is under way in either direction.
func (c *Conn) resting() bool {
	return c.state == open && !c.datagrams && c.burst == nil && c.unsent == 0 && len(c.unread()) == 0
}

// want is the interest that follows from the connection's state.
func (c *Conn) want() interest {
	if c.datagrams {
		if c.burst == nil && c.state == open {
			return read
		}
		return absent
	}
	reads := c.reading() || c.state == lingering
	writes := c.unsent > 0 && c.full && !c.stalled
	switch {
	case reads && writes:
		return readWrite
	case reads:
		return read
	case writes:
		return write
	}
	return watch
}
