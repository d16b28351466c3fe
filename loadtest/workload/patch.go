package workload

import (
	"encoding/binary"
	"math"
	"math/bits"
)

// stamp is the time of sending as it stands in an event.
type stamp struct {
	micros  int64
	seconds [secondsBytes]byte
	exact   [microsBytes]byte
}

func (s *stamp) set(micros int64) {
	if s.micros != micros {
		s.micros = micros
		putVarint(s.seconds[:], uint64(micros/1e6))
		putVarint(s.exact[:], uint64(micros))
	}
}

// patch writes the next keys and metrics of walk, and the time, into frames,
// which were templates or any other frames of events of this workload.
func (w *Workload) patch(frames []byte, walk *walk, now *stamp) {
	at := w.at
	for frame := w.first; frame < len(frames); frame += len(w.msg) {
		for i := range w.config.Batch {
			event := frames[frame+i*w.stride:][:w.eventBytes]
			w.patchKey(event, walk.next())
			if at.seconds > 0 {
				*(*[secondsBytes]byte)(event[at.seconds:]) = now.seconds
			}
			if at.micros > 0 {
				*(*[microsBytes]byte)(event[at.micros:]) = now.exact
			}
			w.patchMetric(event, walk.metric())
		}
	}
}

func (w *Workload) patchKey(event []byte, key uint32) {
	host := w.host(key)
	service := key - host*uint32(w.config.Services)
	binary.LittleEndian.PutUint64(event[w.at.host:], w.hosts.tails[host])
	binary.LittleEndian.PutUint64(event[w.at.service:], w.services.tails[service])
}

// host is key / Services, by multiplication with the reciprocal: a division is
// the dearest instruction of a patch. It is exact for 32-bit keys.
func (w *Workload) host(key uint32) uint32 {
	if w.reciprocal == 0 {
		return key
	}
	host, _ := bits.Mul64(uint64(key), w.reciprocal)
	return uint32(host)
}

// reciprocal is 2^64 / n, rounded up; 0 stands for that of 1.
func reciprocal(n int) uint64 { return math.MaxUint64/uint64(n) + 1 }

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
