package workload

import (
	"math/bits"
	"math/rand/v2"
)

// random is a generator of 64 bits whose next number does not wait for the last
// one to be mixed: a counter with odd steps, mixed by one multiplication. It is
// good enough to choose keys by, and costs a third of package rand's.
type random uint64

const (
	randomStep = 0xa0761d6478bd642f
	randomMix  = 0xe7037ed1a0b428db
)

// newRandom returns one of many sequences of a seed.
func newRandom(seed uint64, sequence int) random {
	return random(rand.NewPCG(seed, uint64(sequence)).Uint64())
}

func (r *random) next() uint64 {
	*r += randomStep
	high, low := bits.Mul64(uint64(*r), uint64(*r)^randomMix)
	return high ^ low
}
