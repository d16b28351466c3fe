package index

import (
	"math"
	"unsafe"

	"darboux/handlers/riemann"
)

// entry is the header of an entry; the event's stored form follows it. Headers
// and events lie in the index's memory, guarded by the lock of their shard.
type entry struct {
	id       uint32
	size     uint32         // bytes of the stored form
	kept     riemann.Fields // see riemann.Event.Kept; with the number of pins, see pin.go
	class    classID        // the chunk's; ownRun: a run of pages
	bornHigh uint8
	bornLow  uint32
	spans    [spanKinds]shortSpan // see spans; in an ownRun spans[0] is pages of the run
}

const entrySize = 32

var _ = [1]struct{}{}[unsafe.Sizeof(entry{})-entrySize]

// maxBorn is the largest number that entry has room for; see shard.born.
const maxBorn = 1<<40 - 1

// The spans that an entry knows of its stored form.
const (
	hostSpan = iota
	serviceSpan
	stateSpan
	tagsSpan
	spanKinds
)

// shortSpan is a riemann.Span of an event of less than 64 KiB.
type shortSpan struct{ off, len uint16 }

// spans says where in a stored form host, service, state and tags stand, so that
// an entry is compared without a walk. Tags are from the first tag's field to the
// end of the last: as long as these bytes are the same, the tags are. If that
// can't be said in short, they have length noTagsSpan.
type spans [spanKinds]shortSpan

const noTagsSpan = math.MaxUint16

func (x *entry) born() uint64 { return uint64(x.bornHigh)<<32 | uint64(x.bornLow) }

func (x *entry) setBorn(born uint64) {
	x.bornHigh, x.bornLow = uint8(born>>32), uint32(born)
}

// stored is the event's stored form.
func (x *entry) stored() []byte {
	return unsafe.Slice((*byte)(unsafe.Add(unsafe.Pointer(x), entrySize)), x.size)
}

// deadline is when the entry expires; see riemann.Event.Deadline.
func (x *entry) deadline() int64 {
	var e riemann.Event
	x.view(&e)
	return e.Deadline(0, 0) // a stored event has a time and a ttl
}

func (x *entry) runPages() int { return int(x.spans[0].off)<<16 | int(x.spans[0].len) }

func (x *entry) setRunPages(n int) { x.spans[0] = shortSpan{uint16(n >> 16), uint16(n)} }

// room is how many bytes the chunk has for the stored form.
func (x *entry) room() int {
	if x.class == ownRun {
		return x.runPages()<<pageShift - entrySize
	}
	return x.class.size() - entrySize
}

// view makes e the view of the entry's event.
func (x *entry) view(e *riemann.Event) { x.viewOf(e, x.fields(), everything) }

// everything stands for all that can be known of an entry.
const everything = ^riemann.Fields(0)

// spanFields are the fields whose places an entry knows.
const spanFields = riemann.HasHost | riemann.HasService | riemann.HasState

// viewOf makes e a view of the entry's event for who looks at no other fields than needs.
// Where the entry knows their places, the rest of e is left as it was. kept is x.fields().
// Of a pinned entry it needs no lock.
func (x *entry) viewOf(e *riemann.Event, kept, needs riemann.Fields) {
	var err error
	switch {
	case needs == everything:
		err = e.ParseStored(x.stored(), kept)
	case needs&^spanFields == 0 && x.class != ownRun:
		e.Raw = x.stored()
		e.Set = kept&spanFields | riemann.IsStored
		e.Host, e.Service, e.State = x.spans[hostSpan].wide(), x.spans[serviceSpan].wide(), x.spans[stateSpan].wide()
	default:
		err = e.ParseStoredFields(x.stored(), kept, needs)
	}
	if err != nil {
		panic("BUG: a stored event is damaged: " + err.Error())
	}
}

func (s shortSpan) wide() riemann.Span { return riemann.Span{Off: uint32(s.off), Len: uint32(s.len)} }

// text is the host, service or state; nil if there is none.
func (x *entry) text(which int, bit riemann.Fields) []byte {
	if x.kept&bit == 0 {
		return nil
	}
	if x.class != ownRun {
		s := x.spans[which]
		return x.stored()[s.off : int(s.off)+int(s.len) : int(s.off)+int(s.len)]
	}
	var e riemann.Event
	x.view(&e)
	switch which {
	case hostSpan:
		return e.HostBytes()
	case serviceSpan:
		return e.ServiceBytes()
	}
	return e.StateBytes()
}

func (x *entry) host() []byte    { return x.text(hostSpan, riemann.HasHost) }
func (x *entry) service() []byte { return x.text(serviceSpan, riemann.HasService) }
func (x *entry) state() []byte   { return x.text(stateSpan, riemann.HasState) }
