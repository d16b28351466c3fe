package index

import (
	"hash/maphash"
	"sync"

	"darboux/handlers/riemann"
)

// structs is what the index is measured against: the obvious sharded map of
// structs, each with strings of its own.
type structs struct {
	seed   maphash.Seed
	shards [16]struct {
		mu     sync.Mutex
		events map[structKey]structEvent
	}
}

type structKey struct {
	host, service       string
	hasHost, hasService bool
}

type structEvent struct {
	host, service, state, description string
	tags                              []string
	attributes                        map[string]string
	time, micros                      int64
	metric                            riemann.Number
	ttl                               float32
}

func newStructs() *structs {
	s := &structs{seed: maphash.MakeSeed()}
	for i := range s.shards {
		s.shards[i].events = map[structKey]structEvent{}
	}
	return s
}

func (s *structs) apply(events []riemann.Event, now int64) {
	for i := range events {
		e := &events[i]
		key := structKey{string(e.HostBytes()), string(e.ServiceBytes()), e.HostBytes() != nil, e.ServiceBytes() != nil}
		shard := &s.shards[maphash.Comparable(s.seed, key)%16]
		event := newStructEvent(e, now)
		shard.mu.Lock()
		shard.events[key] = event
		shard.mu.Unlock()
	}
}

func newStructEvent(e *riemann.Event, now int64) structEvent {
	x := structEvent{
		host:        string(e.HostBytes()),
		service:     string(e.ServiceBytes()),
		state:       string(e.StateBytes()),
		description: string(e.DescriptionBytes()),
		time:        e.Time,
		micros:      e.At(now),
		metric:      e.Metric(),
		ttl:         e.TTL,
	}
	for it := e.Tags(); it.Next(); {
		x.tags = append(x.tags, string(it.Tag))
	}
	for it := e.Attributes(); it.Next(); {
		if x.attributes == nil {
			x.attributes = map[string]string{}
		}
		x.attributes[string(it.Key)] = string(it.Value)
	}
	return x
}
