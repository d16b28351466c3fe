package main

import (
	"time"

	"darboux/handlers/riemann"
)

// selfPrefix begins the service of every self event, so that
// service =~ "darboux %" finds them all.
const selfPrefix = "darboux "

// selfLives is how many rounds a self event outlives: one round may be late.
const selfLives = 3

// eventTaker takes events into the index; see index.Store.
type eventTaker interface {
	Apply(events []riemann.Event, now int64, refused []bool) int
}

// selfEvents indexes the daemon's own metrics as events, so that any Riemann client
// can read them. One goroutine calls its methods.
type selfEvents struct {
	host    string
	ttl     float32 // seconds
	metrics func() []metric
	index   eventTaker

	wire    []byte // scratch: one event at a time
	events  [1]riemann.Event
	refused [1]bool
}

// newSelfEvents prepares rounds that come at the given interval.
func newSelfEvents(host string, interval time.Duration, metrics func() []metric, index eventTaker) *selfEvents {
	return &selfEvents{host: host, ttl: float32((selfLives * interval).Seconds()), metrics: metrics, index: index}
}

// round indexes every metric with its value of now. An event that the index has no
// room for is counted there like anybody else's.
func (s *selfEvents) round(now time.Time) {
	micros := now.UnixMicro()
	for _, m := range s.metrics() {
		s.wire = s.record(m, micros).AppendEvent(s.wire[:0])
		if err := s.events[0].Parse(s.wire); err != nil {
			panic("BUG: a self event is refused: " + err.Error())
		}
		s.index.Apply(s.events[:], micros, s.refused[:])
	}
}

func (s *selfEvents) record(m metric, micros int64) *riemann.Record {
	return &riemann.Record{
		Set:         riemann.HasTimeMicros | riemann.HasSint64 | riemann.HasTTL,
		Host:        s.host,
		Service:     selfPrefix + m.name,
		Description: m.help,
		TimeMicros:  micros,
		Sint64:      m.value,
		TTL:         s.ttl,
		Tags:        []string{"darboux", string(m.kind)},
	}
}
