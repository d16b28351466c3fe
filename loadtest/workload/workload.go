package workload

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"time"

	"google.golang.org/protobuf/encoding/protowire"
)

// queryVariants is how many frames a query text with placeholders becomes.
const queryVariants = 64

// zipfDraws is how many keys are drawn ahead from a Zipf distribution: a draw
// takes logarithms, far too long for each event.
const zipfDraws = 1 << 17

// Workload is a Config made ready: immutable, shared by all connections.
type Workload struct {
	config         Config
	connections    int
	hosts          names
	services       names
	msg            []byte // the frame of a Msg of Batch events
	first, stride  int    // where its first Event begins, and how far the next is
	at             patches
	queries        [][]byte
	zipf           []uint32
	reciprocal     uint64 // of Services
	eventBytes     int
	queryThreshold uint64 // a request is a query if a draw is below; 0: never
	onlyQueries    bool
}

// New encodes what c asks for, for the given number of connections (at least
// 1). Its errors name value, limit and flag.
func New(c Config, connections int) (*Workload, error) {
	if err := c.Check(); err != nil {
		return nil, err
	}
	w := &Workload{config: c, connections: connections}
	w.reciprocal = reciprocal(c.Services)
	w.hosts = newNames(c.Prefix+"-", c.Hosts)
	w.services = newNames("service-", c.Services)
	if err := w.encodeMsg(); err != nil {
		return nil, err
	}
	w.encodeQueries()
	w.onlyQueries = c.QueryShare == 1
	if !w.onlyQueries {
		w.queryThreshold = uint64(math.Ldexp(c.QueryShare, 64))
	}
	if c.Zipf > 0 {
		w.drawZipf()
	}
	return w, nil
}

func (w *Workload) encodeMsg() error {
	event, at := encodeEvent(&w.config, w.hosts.at(0), w.services.at(0))
	if w.config.EventSize > 0 && len(event) > w.config.EventSize {
		return fmt.Errorf("--event-size %d: an event with these fields has at least %d bytes", w.config.EventSize, len(event))
	}
	field := protowire.AppendBytes(protowire.AppendTag(nil, 6, protowire.BytesType), event)
	if len(field)*w.config.Batch > MaxMsgBytes {
		return fmt.Errorf("--batch %d events of %d bytes: at most %d bytes a Msg", w.config.Batch, len(event), MaxMsgBytes)
	}
	w.msg = frame([]byte(strings.Repeat(string(field), w.config.Batch)))
	w.first, w.stride = 4+len(field)-len(event), len(field)
	w.at, w.eventBytes = at, len(event)
	return nil
}

func (w *Workload) encodeQueries() {
	draw := rand.New(rand.NewPCG(w.config.Seed, 1))
	for _, text := range w.config.Queries {
		variants := 1
		if strings.Contains(text, "{host}") || strings.Contains(text, "{service}") {
			variants = queryVariants
		}
		for range variants {
			text := strings.NewReplacer(
				"{host}", w.hosts.at(draw.IntN(w.config.Hosts)),
				"{service}", w.services.at(draw.IntN(w.config.Services)),
			).Replace(text)
			w.queries = append(w.queries, Query(text))
		}
	}
}

func (w *Workload) drawZipf() {
	z := rand.NewZipf(rand.New(rand.NewPCG(w.config.Seed, 2)), w.config.Zipf, 1, uint64(w.keysOf(0)-1))
	w.zipf = make([]uint32, zipfDraws)
	for i := range w.zipf {
		w.zipf[i] = uint32(z.Uint64())
	}
}

// keysOf is the number of keys dealt to a connection, at least 1.
func (w *Workload) keysOf(connection int) int {
	keys := w.Keys()
	if connection >= keys {
		return 1 // more connections than keys: they share
	}
	return (keys - connection + w.connections - 1) / w.connections
}

// Keys is the number of different (host, service).
func (w *Workload) Keys() int { return w.config.Hosts * w.config.Services }

// Batch is the number of events a Msg.
func (w *Workload) Batch() int { return w.config.Batch }

// Hosts is the number of different hosts.
func (w *Workload) Hosts() int { return w.config.Hosts }

// Host is the name of host i.
func (w *Workload) Host(i int) string { return w.hosts.at(i) }

// EventBytes is the size of one encoded Event.
func (w *Workload) EventBytes() int { return w.eventBytes }

// MsgBytes is the size of one frame with events, header included.
func (w *Workload) MsgBytes() int { return len(w.msg) }

// LongestFrame is the size of the longest request, header included.
func (w *Workload) LongestFrame() int {
	longest := len(w.msg)
	for _, q := range w.queries {
		longest = max(longest, len(q))
	}
	return longest
}

// Key returns the number of the key that a server's event has, and whether it
// is one of this workload's.
func (w *Workload) Key(host, service string) (int, bool) {
	h, ok := w.hosts.number(host)
	s, ok2 := w.services.number(service)
	return h*w.config.Services + s, ok && ok2
}

// AppendAll appends to dst frames that set the keys from..to-1 once each, with a
// metric below all others, to fill an index; it returns the number of frames too. The last
// Msg is filled up with keys that repeat the last one.
func (w *Workload) AppendAll(dst []byte, from, to int, now time.Time) ([]byte, int) {
	var at stamp
	at.set(now.UnixMicro())
	frames := 0
	for from < to {
		start := len(dst)
		dst = append(dst, w.msg...)
		w.patch(dst[start:], &walk{w: w, list: true, n: int64(from), last: int64(to - 1)}, &at)
		from += w.config.Batch
		frames++
	}
	return dst, frames
}
