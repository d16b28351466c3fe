package riemann

// StoredExtra is how much longer than Raw, at most, a stored form is: a time
// (11 bytes), a time_micros (11), a second metric (9) and a ttl (5).
const StoredExtra = 36

// RawIsPrefix reports whether the stored form begins with Raw, as it does
// unless something must be left out of it; then e's spans hold in the stored
// form as well.
func (e *Event) RawIsPrefix() bool {
	return e.Set&IsStored != 0 || e.dropped() == 0
}

// Kept is what must be kept beside the stored form to read it again with
// ParseStored.
func (e *Event) Kept() Fields { return e.Set | IsStored }

// AppendStored appends e's stored form to dst: the bytes with which replies
// carry it. That is Raw, with what is missing behind it: both times (now, in
// microseconds of the Unix epoch, if the client set none), metric_f beside
// metric_sint64 or metric_d, metric_d beside metric_f, and a ttl (the default,
// in seconds, if the client set none). Metrics that don't count, a time other
// than time_micros says, and all but the last of a repeated singular field are
// left out. It is at most StoredExtra bytes longer than Raw.
func (e *Event) AppendStored(dst []byte, now int64, defaultTTL float32) []byte {
	if e.Set&IsStored != 0 {
		return append(dst, e.Raw...)
	}
	drop := e.dropped()
	if drop == 0 {
		dst = append(dst, e.Raw...)
	} else {
		dst = appendWithout(dst, e.Raw, drop)
		dst = e.appendTexts(dst, drop)
	}
	have := e.Set &^ drop
	dst = e.appendTimes(dst, have, now)
	dst = e.appendMetric(dst, have)
	if have&HasTTL == 0 {
		ttl := defaultTTL
		if e.Set&HasTTL != 0 {
			ttl = e.TTL
		}
		dst = appendFixed32Field(dst, tagTTL, ttl)
	}
	return dst
}

// dropped is the set of the singular fields that the stored form does not take
// from Raw as they stand there.
func (e *Event) dropped() Fields {
	drop := e.again
	if e.Set&timeKinds == timeKinds && e.Time != e.TimeMicros/micros {
		drop |= HasTime
	}
	switch {
	case e.Set&HasSint64 != 0:
		drop |= e.Set & HasD
		if e.F != float32(e.Sint64) {
			drop |= e.Set & HasF
		}
	case e.Set&HasD != 0:
		if f := float32(e.D); e.F != f && !(e.F != e.F && f != f) {
			drop |= e.Set & HasF
		}
	}
	return drop
}

// appendWithout appends the fields of raw but those in drop, in as few pieces
// as there are between them.
func appendWithout(dst, raw []byte, drop Fields) []byte {
	from := 0
	for i := 0; i < len(raw); {
		tag, _, next := nextField(raw, i)
		if next < 0 {
			panic("BUG: an event's wire bytes changed under its view")
		}
		if drop&fieldOf(tag) != 0 {
			dst = append(dst, raw[from:i]...)
			from = next
		}
		i = next
	}
	return append(dst, raw[from:]...)
}

// appendTexts appends the last of each string field in which.
func (e *Event) appendTexts(dst []byte, which Fields) []byte {
	for _, tag := range [...]byte{tagState, tagService, tagHost, tagDescription} {
		if bit := fieldOf(uint64(tag)); which&bit != 0 {
			dst = appendBytesField(dst, tag, e.textSpan(bit).of(e.Raw))
		}
	}
	return dst
}

// appendTimes appends the times that are not among have.
func (e *Event) appendTimes(dst []byte, have Fields, now int64) []byte {
	if have&timeKinds == timeKinds {
		return dst
	}
	at := e.At(now)
	if have&HasTime == 0 {
		seconds := at / micros
		if e.Set&timeKinds == HasTime {
			seconds = e.Time
		}
		dst = appendVarintField(dst, tagTime, uint64(seconds))
	}
	if have&HasTimeMicros == 0 {
		dst = appendVarintField(dst, tagTimeMicros, uint64(at))
	}
	return dst
}

// appendMetric appends of the metric's two forms those that are not among have.
func (e *Event) appendMetric(dst []byte, have Fields) []byte {
	f := e.F
	switch {
	case e.Set&HasSint64 != 0:
		f = float32(e.Sint64)
		if have&HasSint64 == 0 {
			dst = appendVarintField(dst, tagSint64, zigzag(e.Sint64))
		}
	case e.Set&HasD != 0:
		f = float32(e.D)
		if have&HasD == 0 {
			dst = appendFixed64Field(dst, tagD, e.D)
		}
	case e.Set&HasF != 0:
		dst = appendFixed64Field(dst, tagD, float64(f))
	default:
		return dst
	}
	if have&HasF == 0 {
		dst = appendFixed32Field(dst, tagF, f)
	}
	return dst
}

func zigzag(v int64) uint64 { return uint64(v<<1) ^ uint64(v>>63) }

// ParseStored makes e the view of b, a stored form, with what Kept said when
// it was stored. Afterwards e answers queries as the received event did, except
// that it has a time and a ttl in any case. On an error, which means damage, e
// is not usable.
func (e *Event) ParseStored(b []byte, kept Fields) error {
	if err := e.Parse(b); err != nil {
		return err
	}
	e.Set = kept | IsStored
	return nil
}

// ParseStoredFields is ParseStored for a reader of a few fields: it looks at no
// more of b than it takes to find those in want. The others may look as if they
// were not set. Any metric kind in want stands for the metric that counts, either
// time for TimeNumber. At, Deadline and AppendStored need a whole view.
func (e *Event) ParseStoredFields(b []byte, kept, want Fields) error {
	find := onWire(kept, want)
	if find == 0 {
		*e = Event{Raw: b, Set: IsStored}
		return nil
	}
	if at, why := e.walk(b, find); why != 0 {
		return e.fail(at, why)
	}
	if find&^e.Set != 0 {
		return &Error{At: len(b), In: "the stored event", What: "a kept field is missing"}
	}
	// The walk may have stopped at the first tag and the first attribute.
	if e.Set&HasTags != 0 {
		e.tags.end = uint32(len(b))
	}
	if e.Set&HasAttributes != 0 {
		e.attrs.end = uint32(len(b))
	}
	e.Set = e.Set&kept | IsStored
	return nil
}

// onWire is which fields of a stored form hold those in want.
func onWire(kept, want Fields) Fields {
	find := want&kept&AllFields&^(timeKinds|metricKinds) | want&HasTTL
	if want&timeKinds != 0 {
		if kept&timeKinds == HasTime {
			find |= HasTime
		} else {
			find |= HasTimeMicros
		}
	}
	if want&metricKinds != 0 {
		find |= counts(kept)
	}
	return find
}

// counts is the metric kind of set that counts; 0 if there is none.
func counts(set Fields) Fields {
	switch {
	case set&HasSint64 != 0:
		return HasSint64
	case set&HasD != 0:
		return HasD
	}
	return set & HasF
}
