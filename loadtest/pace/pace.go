// Package pace says when the requests of an open loop are due. A Schedule is
// pure: it knows neither clock nor sleep, and a second one with the same
// arguments repeats the first.
package pace

import (
	"math"
	"math/rand/v2"
	"time"
)

// Schedule is the sequence of the times at which requests are due. The zero
// value is not usable; it is used by one goroutine at a time.
type Schedule struct {
	perSecond float64
	random    *rand.Rand // nil: constant
	n         int64
	at        float64 // ns, of a Poisson process: the last request's time
}

// Constant returns a schedule of evenly spaced requests, the first at 0.
// perSecond must be above 0.
func Constant(perSecond float64) *Schedule {
	return newSchedule(perSecond, nil)
}

// Poisson returns a schedule with exponentially distributed gaps, as of many
// independent senders, perSecond (above 0) on average.
func Poisson(perSecond float64, seed uint64) *Schedule {
	return newSchedule(perSecond, rand.New(rand.NewPCG(seed, 3)))
}

func newSchedule(perSecond float64, random *rand.Rand) *Schedule {
	if !(perSecond > 0) || math.IsInf(perSecond, 0) {
		panic("BUG: a schedule needs a finite rate above 0")
	}
	return &Schedule{perSecond: perSecond, random: random}
}

// Next returns the time of the next request since the start. Times never
// decrease.
func (s *Schedule) Next() time.Duration {
	n := s.n
	s.n++
	if s.random == nil {
		// From the number, not the last time: no error adds up.
		return time.Duration(math.Round(float64(n) * 1e9 / s.perSecond))
	}
	s.at += s.random.ExpFloat64() * 1e9 / s.perSecond
	return time.Duration(s.at)
}

// Counter counts how many requests of a schedule have fallen due.
type Counter struct {
	schedule *Schedule
	due      int64
	next     time.Duration
}

// NewCounter counts the requests of a schedule that nobody else uses.
func NewCounter(s *Schedule) *Counter {
	return &Counter{schedule: s, next: s.Next()}
}

// Due returns the number of requests due at or before now. Its now must not
// decrease from call to call.
func (c *Counter) Due(now time.Duration) int64 {
	for c.next <= now {
		c.due++
		c.next = c.schedule.Next()
	}
	return c.due
}
