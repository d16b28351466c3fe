package workload

import (
	"encoding/binary"
	"math"
)

// appendMsg appends a frame of events with the next keys of walk and the next
// metrics, sent at micros (µs since 1970).
func (w *Workload) appendMsg(dst []byte, walk *walk, micros int64) []byte {
	start := len(dst) + w.first
	dst = append(dst, w.msg...)
	var seconds [secondsBytes]byte
	var exact [microsBytes]byte
	putVarint(seconds[:], uint64(micros/1e6))
	putVarint(exact[:], uint64(micros))
	for i := range w.config.Batch {
		event := dst[start+i*w.stride : start+i*w.stride+w.eventBytes]
		key := walk.next()
		w.patchKey(event, key)
		if w.at.seconds > 0 {
			copy(event[w.at.seconds:], seconds[:])
		}
		if w.at.micros > 0 {
			copy(event[w.at.micros:], exact[:])
		}
		w.patchMetric(event, walk.metric())
	}
	return dst
}

func (w *Workload) patchKey(event []byte, key uint32) {
	services := uint32(w.config.Services)
	copy(event[w.at.host:], w.hosts.at(int(key/services)))
	copy(event[w.at.service:], w.services.at(int(key%services)))
}

// patchMetric writes an event's number into whichever metric fields it has. As
// metric_f it loses precision, as it does with real clients.
func (w *Workload) patchMetric(event []byte, metric int64) {
	if w.at.sint64 > 0 {
		putVarint(event[w.at.sint64:w.at.sint64+sint64Bytes], uint64(metric)<<1)
	}
	if w.at.d > 0 {
		binary.LittleEndian.PutUint64(event[w.at.d:], math.Float64bits(float64(metric)))
	}
	if w.at.f > 0 {
		binary.LittleEndian.PutUint32(event[w.at.f:], math.Float32bits(float32(metric)))
	}
}
