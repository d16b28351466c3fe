package riemann

// Span is a piece of an Event's Raw.
type Span struct{ Off, Len uint32 }

func (s Span) of(b []byte) []byte {
	end := s.Off + s.Len
	return b[s.Off:end:end]
}

// Event is a view of one event's wire bytes. It is meant to be reused; it is
// valid as long as Raw is. A field whose bit is not in Set has its zero value,
// but that a stored view (see ParseStored) always has Time, TimeMicros and TTL.
type Event struct {
	Raw []byte // the event's wire bytes, without tag and length

	Host, Service, State, Description Span

	Time       int64   // seconds of the Unix epoch
	TimeMicros int64   // microseconds of the Unix epoch
	Sint64     int64   // metric_sint64
	D          float64 // metric_d
	F          float32 // metric_f
	TTL        float32 // seconds

	Set Fields // what the client set, and IsStored

	again       Fields // singular fields that Raw has more than once
	tags, attrs run
}

// HostBytes is the host; nil if the client set none, empty but not nil if it
// set an empty one. The same holds for the other three.
func (e *Event) HostBytes() []byte { return e.text(HasHost, e.Host) }

// ServiceBytes is the service; see HostBytes.
func (e *Event) ServiceBytes() []byte { return e.text(HasService, e.Service) }

// StateBytes is the state; see HostBytes.
func (e *Event) StateBytes() []byte { return e.text(HasState, e.State) }

// DescriptionBytes is the description; see HostBytes.
func (e *Event) DescriptionBytes() []byte { return e.text(HasDescription, e.Description) }

func (e *Event) text(bit Fields, s Span) []byte {
	if e.Set&bit == 0 {
		return nil
	}
	return s.of(e.Raw)
}

// IsExpired reports whether the state is "expired": such an event removes its
// entry from the index.
func (e *Event) IsExpired() bool {
	return e.Set&HasState != 0 && string(e.State.of(e.Raw)) == "expired"
}
