package series

import "darboux/handlers/riemann"

// Point is one value of a series. It is meant to be reused: Begin, Name and Tag, a
// value and a time, AppendEvent. What it is given must stay as it is until then.
type Point struct {
	Value  float64
	Timed  bool  // it has a time; else that of its receipt counts
	Micros int64 // the time in microseconds of the Unix epoch

	host       []byte // nil: none
	service    []byte
	attributes []byte // wire bytes
}

// Begin forgets the point before.
func (p *Point) Begin() {
	p.Timed, p.host = false, nil
	p.service, p.attributes = p.service[:0], p.attributes[:0]
}

// Name sets the series' name. It comes before the tags.
func (p *Point) Name(name []byte) { p.service = append(p.service, name...) }

// Host sets the host.
func (p *Point) Host(host []byte) { p.host = host }

// Tag adds a tag: host sets the host, any other is an attribute and, as
// ;key=value, a part of the service. Of two with the same key the last one counts.
func (p *Point) Tag(key, value []byte) {
	if string(key) == "host" {
		p.host = value
		return
	}
	p.service = append(append(p.service, ';'), key...)
	p.service = append(append(p.service, '='), value...)
	p.attributes = riemann.AppendAttribute(p.attributes, key, value)
}

// AppendEvent appends the point's event to dst, an Event's wire bytes. ttl is its time
// to live in seconds; 0 leaves that to the index.
func (p *Point) AppendEvent(dst []byte, ttl float32) []byte {
	if p.Timed {
		dst = p.appendTime(dst)
	}
	dst = riemann.AppendService(dst, p.service)
	if p.host != nil {
		dst = riemann.AppendHost(dst, p.host)
	}
	if ttl > 0 {
		dst = riemann.AppendTTL(dst, ttl)
	}
	dst = append(dst, p.attributes...)
	return riemann.AppendMetric(dst, p.Value)
}

// appendTime writes whole seconds as such: queries see an integer then.
func (p *Point) appendTime(dst []byte) []byte {
	if p.Micros%micros == 0 {
		return riemann.AppendTime(dst, p.Micros/micros)
	}
	return riemann.AppendTimeMicros(dst, p.Micros)
}
