package naive

import (
	"sync"
	"time"

	"darboux/handlers/riemann/pb"

	"google.golang.org/protobuf/proto"
)

// defaultTTL is the ttl, in seconds, of an event that comes without one.
const defaultTTL = 60

type key struct{ host, service string }

// index is the last event of each (host, service).
type index struct {
	mu     sync.Mutex
	events map[key]*pb.Event
}

func newIndex() *index {
	return &index{events: make(map[key]*pb.Event)}
}

func (x *index) apply(events []*pb.Event) {
	now := time.Now()
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, e := range events {
		k := key{e.GetHost(), e.GetService()}
		if e.GetState() == "expired" {
			delete(x.events, k)
			continue
		}
		complete(e, now)
		x.events[k] = e
	}
}

func (x *index) search(s selection) []*pb.Event {
	x.mu.Lock()
	defer x.mu.Unlock()
	var found []*pb.Event
	for k, e := range x.events {
		if s.match(k) {
			found = append(found, e)
		}
	}
	return found
}

// complete gives e the fields that a reply carries whatever the client set:
// both times, metric_f beside an exact metric, and a ttl.
func complete(e *pb.Event, now time.Time) {
	micros := now.UnixMicro()
	switch {
	case e.TimeMicros != nil:
		micros = e.GetTimeMicros()
	case e.Time != nil:
		micros = e.GetTime() * 1e6
	}
	e.TimeMicros, e.Time = proto.Int64(micros), proto.Int64(micros/1e6)
	switch {
	case e.MetricSint64 != nil:
		e.MetricF = proto.Float32(float32(e.GetMetricSint64()))
	case e.MetricD != nil:
		e.MetricF = proto.Float32(float32(e.GetMetricD()))
	}
	if e.Ttl == nil {
		e.Ttl = proto.Float32(defaultTTL)
	}
}
