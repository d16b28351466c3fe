package riemann

// The Append functions of this file append one field of an Event to its wire bytes.
// They are for events that are made of other protocols' bytes, many a second; a Record
// is handier where that does not matter. The fields may stand in any order, each
// once, but for attributes.

// AppendHost appends the host, which may be empty.
func AppendHost(dst, host []byte) []byte { return appendBytesField(dst, tagHost, host) }

// AppendService appends the service, which may be empty.
func AppendService(dst, service []byte) []byte { return appendBytesField(dst, tagService, service) }

// AppendAttribute appends one attribute. Of two with the same key the last one counts.
func AppendAttribute(dst, key, value []byte) []byte { return appendAttribute(dst, key, value) }

func appendAttribute[T []byte | string](dst []byte, key, value T) []byte {
	dst = appendLength(dst, tagAttributes, sizeField(len(key))+sizeField(len(value)))
	dst = appendBytesField(dst, tagKey, key)
	return appendBytesField(dst, tagValue, value)
}

// AppendTime appends a time in whole seconds of the Unix epoch.
func AppendTime(dst []byte, seconds int64) []byte {
	return appendVarintField(dst, tagTime, uint64(seconds))
}

// AppendTimeMicros appends a time in microseconds of the Unix epoch.
func AppendTimeMicros(dst []byte, micros int64) []byte {
	return appendVarintField(dst, tagTimeMicros, uint64(micros))
}

// AppendTTL appends a time to live in seconds.
func AppendTTL(dst []byte, seconds float32) []byte {
	return appendFixed32Field(dst, tagTTL, seconds)
}

// AppendMetric appends a metric_d.
func AppendMetric(dst []byte, metric float64) []byte {
	return appendFixed64Field(dst, tagD, metric)
}
