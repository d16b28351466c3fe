package loop

import (
	"fmt"
	"time"

	"darboux/frame"
)

// Config is the settings of a Group. All fields are required where nothing else is
// said.
type Config struct {
	// Loops is the number of loops, at least 1.
	Loops int
	// Ring carries bursts to the handlers. nil: the loops work their bursts
	// themselves.
	Ring *frame.Ring[*frame.Burst]
	// Protocols are all that connections may speak; Listen names one by its place.
	Protocols []*frame.Protocol
	// ConnMemory bounds the bytes held for a connection: frames that wait and
	// replies that the kernel has not taken.
	ConnMemory frame.Limit
	// Memory bounds the bytes held for all connections: half of it is shared out
	// among the loops, half is the reserve for frames larger than ConnMemory and
	// replies larger than Window.
	Memory frame.Limit
	// FrameTimeout is the window over which an incomplete frame must come in at
	// LeastRate, and a fifth of it that over which it must come in at HolderRate
	// while others wait for its room; 0 is no limit.
	FrameTimeout time.Duration
	// WriteTimeout is the window over which a reply must be taken at LeastRate;
	// 0 is no limit.
	WriteTimeout time.Duration
	// MaxConns is the most connections at a time, over all loops.
	MaxConns frame.Limit
	// MaxConnsPerAddress is the most connections at a time from one address; 0 is
	// no limit.
	MaxConnsPerAddress frame.Limit
	// SocketBuffer is the size of the kernel's send and receive buffer of each
	// connection, in bytes; 0 leaves it to the kernel.
	SocketBuffer int
	// Report is told of what an operator may want to know, with the peer's address
	// where there is one. It must not block, and it bounds its own rate.
	Report func(kind, peer, text string)
}

const (
	// Window is the most reply bytes of a connection that wait for the kernel
	// when a further frame is begun.
	Window = 64 << 10
	// MaxWaiting is the most bursts that may be Waiting at a time, over all
	// protocols, where the loops work their bursts themselves.
	MaxWaiting = 1024
	// readSize is the most that is read in one call.
	readSize = 64 << 10
	// leastRead is the room for which a connection paused at its own budget is read
	// again: less would cost more in calls than it brings.
	leastRead = 4 << 10
	// BurstSize is the size in bytes up to which whole frames go into one burst:
	// it is the quantum that others wait for.
	BurstSize = 64 << 10
	// MaxDatagram is the longest datagram in bytes that UDP carries (RFC 768: a 16-bit
	// length), all of which is taken.
	MaxDatagram = 65_535
	// DatagramBatch is how many datagrams are read in one call, and the most that make
	// a burst.
	DatagramBatch = 64
	// LeastRate is how fast a peer must send or read, in bytes a second, averaged
	// over FrameTimeout or WriteTimeout.
	LeastRate = 4 << 10
	// HolderRate is how fast a peer must send, or read, in bytes a second, whose frame or
	// reply holds room of the reserve for which others wait, averaged over a fifth of
	// FrameTimeout.
	HolderRate = 256 << 10
	// MinConnMemory is the least ConnMemory: a burst and the next one.
	MinConnMemory = 2 * BurstSize
	// MinLoopMemory is the least share of Memory that a loop works with.
	MinLoopMemory = 1 << 20
	// Floor is what a connection may hold when its loop's share is used up by
	// others, so that small requests go on being answered.
	Floor = 4 << 10
	// BeyondShare is what a connection may hold at most when its loop's share is used
	// up, in bytes: what is read of it, its replies, and the refusal of a frame.
	BeyondShare = 2*Floor + 2<<10
	// ConnSize is about what a connection's own structures take while it holds
	// nothing, in bytes.
	ConnSize = 2 << 10
	// LoopSize is what a loop takes for itself, in bytes: what it reads into, what it works
	// small bursts with, and the buffers and burst structures that it keeps for reuse.
	LoopSize = readSize + keepBuffers + 1<<20
)

// lowMark is the unsent bytes at or below which a connection that waits for its
// window goes on.
const lowMark = Window / 2

// share is the part of Memory that each loop has for its connections.
func (c *Config) share() int { return c.Memory.Value / 2 / c.Loops }

// connRoom is the largest buffer that ConnMemory allows: a frame over it needs the
// reserve.
func (c *Config) connRoom() int { return sizeWithin(c.ConnMemory.Value) }

// reserve is the part of Memory for what is larger than a connection's own budget.
func (c *Config) reserve() int { return c.Memory.Value / 2 }

// holdWindow is the window over which a frame must come in at HolderRate while others wait
// for its room.
func (c *Config) holdWindow() time.Duration { return c.FrameTimeout / 5 }

// credits is how many bursts of a loop may be out at a time.
func (c *Config) credits() int {
	if c.Ring == nil {
		return 0
	}
	return c.Ring.Cap() / c.Loops
}

// Check returns what is wrong with the limits, naming flag, value and limit.
func (c *Config) Check() error {
	if c.ConnMemory.Value < MinConnMemory {
		return tooSmall(c.ConnMemory, MinConnMemory, "one burst and the next")
	}
	if least := 2 * c.Loops * MinLoopMemory; c.Memory.Value < least {
		return tooSmall(c.Memory, least, fmt.Sprintf("half of it shared by %d loops", c.Loops))
	}
	for _, p := range c.Protocols {
		if longest := p.MaxFrame.Value + frame.HeaderLen; longest > c.reserve() {
			return tooSmall(c.Memory, 2*longest, fmt.Sprintf("half of it must hold a frame of %s %d", p.MaxFrame.Flag, p.MaxFrame.Value))
		}
	}
	if c.Ring != nil && c.credits() < 1 {
		return fmt.Errorf("--ring-slots %d: want at least one for each of %d loops", c.Ring.Cap(), c.Loops)
	}
	return nil
}

func tooSmall(l frame.Limit, least int, why string) error {
	return fmt.Errorf("%s %d: want at least %d bytes (%s)", l.Flag, l.Value, least, why)
}
