package workload

// Outbox is a connection's requests on their way to the socket. Where it held
// frames of events before, the next ones only patch them: most of a request's
// bytes are then never copied. The zero value is empty; it belongs to the
// Source that fills it.
type Outbox struct {
	bytes []byte
	ready int // bytes from the beginning, within the capacity, that are whole frames of events
}

// Bytes are the requests in it, valid until it is changed.
func (o *Outbox) Bytes() []byte { return o.bytes }

// Clear empties it.
func (o *Outbox) Clear() { o.bytes = o.bytes[:0] }

// next returns room for n more frames like template, filled with them.
func (o *Outbox) next(template []byte, n int) []byte {
	start := len(o.bytes)
	end := start + n*len(template)
	o.bytes = o.bytes[:min(end, max(start, o.ready))]
	for len(o.bytes) < end {
		if len(o.bytes) == o.ready {
			o.ready += len(template)
		}
		o.bytes = append(o.bytes, template...)
	}
	return o.bytes[start:end]
}

// add appends a frame of another kind; from here on frames are copied anew.
func (o *Outbox) add(frame []byte) {
	o.ready = min(o.ready, len(o.bytes))
	o.bytes = append(o.bytes, frame...)
}
