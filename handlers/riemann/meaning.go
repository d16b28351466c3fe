package riemann

import "math"

// micros is the number of microseconds in a second.
const micros = 1_000_000

// Never is the deadline of an event that does not expire.
const Never = math.MaxInt64

// Kind tells how a query sees a number: an integer never equals a float.
type Kind uint8

// The kinds of a Number.
const (
	Absent  Kind = iota // the event has no such number
	Integer             // Int holds it
	Float               // Float holds it
)

// Number is a numeric field as queries see it.
type Number struct {
	Kind  Kind
	Int   int64
	Float float64
}

// Metric is the metric that counts: metric_sint64 if the client set it, else
// metric_d, else metric_f (a 32-bit float: 0.1 in it is not the double 0.1).
func (e *Event) Metric() Number {
	switch {
	case e.Set&HasSint64 != 0:
		return Number{Kind: Integer, Int: e.Sint64}
	case e.Set&HasD != 0:
		return Number{Kind: Float, Float: e.D}
	case e.Set&HasF != 0:
		return Number{Kind: Float, Float: float64(e.F)}
	}
	return Number{}
}

// TimeNumber is the time in seconds: a float if the client set time_micros,
// an integer if it set time alone. An event with neither has no time as
// received, and as stored that of its receipt, a float.
func (e *Event) TimeNumber() Number {
	switch {
	case e.Set&HasTimeMicros != 0:
		return Number{Kind: Float, Float: float64(e.TimeMicros) / micros}
	case e.Set&HasTime != 0:
		return Number{Kind: Integer, Int: e.Time}
	case e.Set&IsStored != 0:
		return Number{Kind: Float, Float: float64(e.TimeMicros) / micros}
	}
	return Number{}
}

// TTLNumber is the ttl in seconds: a (32-bit) float if the client set one. An
// event without has none as received, and as stored the default: an integer if
// that is whole.
func (e *Event) TTLNumber() Number {
	switch {
	case e.Set&HasTTL != 0:
		return Number{Kind: Float, Float: float64(e.TTL)}
	case e.Set&IsStored == 0:
		return Number{}
	}
	ttl := float64(e.TTL)
	if ttl == math.Trunc(ttl) && math.Abs(ttl) < 1<<62 {
		return Number{Kind: Integer, Int: int64(ttl)}
	}
	return Number{Kind: Float, Float: ttl}
}

// At is the event's time in microseconds of the Unix epoch: time_micros, else
// time (held within int64), else now, the time of receipt.
func (e *Event) At(now int64) int64 {
	switch {
	case e.Set&(HasTimeMicros|IsStored) != 0:
		return e.TimeMicros
	case e.Set&HasTime != 0:
		return secondsToMicros(e.Time)
	}
	return now
}

// Deadline is the last moment, in microseconds of the Unix epoch, at which the
// event has not expired: it has when ttl < now - time, so when now > Deadline.
// A ttl that is NaN counts as 0; one beyond all times gives Never. An event
// without ttl has the default, in seconds; one without time that of its
// receipt, now.
func (e *Event) Deadline(now int64, defaultTTL float32) int64 {
	ttl := defaultTTL
	if e.Set&(HasTTL|IsStored) != 0 {
		ttl = e.TTL
	}
	return addTTL(e.At(now), ttl)
}

// addTTL adds seconds to microseconds. The difference of two times is whole, so
// it exceeds the ttl exactly if it exceeds the ttl's floor.
func addTTL(at int64, ttl float32) int64 {
	us := math.Floor(float64(ttl) * micros)
	switch {
	case us != us:
		return at
	case us >= math.MaxInt64:
		return Never
	case us < math.MinInt64:
		return math.MinInt64
	}
	d := int64(us)
	sum := at + d
	if d > 0 && sum < at {
		return Never
	}
	if d < 0 && sum > at {
		return math.MinInt64
	}
	return sum
}

func secondsToMicros(s int64) int64 {
	if s > math.MaxInt64/micros {
		return math.MaxInt64
	}
	if s < math.MinInt64/micros {
		return math.MinInt64
	}
	return s * micros
}
