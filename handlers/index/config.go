package index

import (
	"fmt"
	"math/bits"
	"runtime"
	"time"

	"darboux/handlers/riemann"
)

// mostShards bounds Config.Shards: each shard costs memory even when empty.
const mostShards = 256

// Config is what a store is made from. The zero value is usable.
type Config struct {
	// Shards is the number of locks that keys are spread over, a power of two
	// up to 256. 0 takes one that suits the machine.
	Shards int

	// DefaultTTL is the ttl in seconds of events that bring none.
	DefaultTTL float32

	// NewestWins keeps the event with the latest time of a key instead of the
	// one received last; of two with the same time the one received last.
	NewestWins bool

	// ExpireKeep are the fields that the notice of an expiry takes from the
	// event; see ParseKeep.
	ExpireKeep riemann.Fields

	// Entries limits the keys, Memory the bytes that the index holds, which must
	// be from LeastMemory to MaxMemory. NewMap has no limit of memory.
	Entries, Memory Limit

	// StreamMemory limits the bytes that streams take beside Memory: the lists of
	// what they found, and old versions of entries that they still need (of NewMap
	// it is not asked).
	StreamMemory Limit

	// Report is told of what an operator should know, in words, with a kind
	// that is a fixed name; nil is nobody. It must not call the store.
	Report func(kind, text string)

	// Monotonic is a clock that no one sets, from any start; nil is the
	// machine's. It tells a jump of the wall clock from time that passed.
	Monotonic func() time.Duration
}

// leastPerShard is what a shard needs before it can hold anything to speak of.
const leastPerShard = 512 << 10

// LeastMemory is the least limit of memory that an index with so many shards
// (0: as many as suit the machine) can be made with, in bytes.
func LeastMemory(shards int) int64 {
	return int64(Config{Shards: shards}.withDefaults().Shards) * leastPerShard
}

// withDefaults fills in what was left out. It panics if the rest is not valid.
func (c Config) withDefaults() Config {
	if c.Shards == 0 {
		c.Shards = shardsFor(runtime.GOMAXPROCS(0))
	}
	if c.Shards < 1 || c.Shards > mostShards || bits.OnesCount(uint(c.Shards)) != 1 {
		panic(fmt.Sprintf("BUG: %d shards; it must be a power of two up to %d", c.Shards, mostShards))
	}
	if c.Report == nil {
		c.Report = func(string, string) {}
	}
	if c.Monotonic == nil {
		start := time.Now()
		c.Monotonic = func() time.Duration { return time.Since(start) }
	}
	return c
}

// shardsFor is four shards for each core, rounded up to a power of two: then two
// goroutines seldom want the same one.
func shardsFor(cores int) int {
	n := 1 << bits.Len(uint(4*cores-1))
	return min(max(n, 16), mostShards)
}
