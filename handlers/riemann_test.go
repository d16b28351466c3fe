package handlers

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"darboux/frame"
	"darboux/handlers/index"
	"darboux/handlers/query"
	"darboux/handlers/querylog"
	"darboux/handlers/riemann"
	"darboux/handlers/riemann/pb"
)

// bench is a worker over an index of its own, with the time standing still.
type bench struct {
	*Riemann
	worker  frame.Worker
	reports []string
}

const benchTime = 1_700_000_000_000_000

func newBench(change func(*Riemann)) *bench {
	b := &bench{}
	b.Riemann = &Riemann{
		Store:    index.NewMap(index.Config{Shards: 1, DefaultTTL: 60}),
		Queries:  query.NewCache(100, 1<<20),
		QueryLog: &querylog.Log{},
		MaxFrame: frame.Limit{Flag: "--max-frame", Value: 1 << 20},
		MaxReply: frame.Limit{Flag: "--max-reply", Value: 1 << 30},
		MaxEvent: frame.Limit{Flag: "--max-event", Value: 1000},
		Now:      func() int64 { return benchTime },
		Elapsed:  func() time.Duration { return 0 },
		Report:   func(kind, peer, text string) { b.reports = append(b.reports, kind+": "+text) },
	}
	if change != nil {
		change(b.Riemann)
	}
	b.worker = b.Protocol().NewWorker()
	return b
}

// newBurst makes a burst of these Msgs' bytes.
func newBurst(bodies ...[]byte) *frame.Burst {
	b := &frame.Burst{Window: 64 << 10, Extra: frame.NewReserve(4 << 20), Peer: "peer:1"}
	for _, body := range bodies {
		start := len(b.In)
		b.In = append(riemann.BeginFrame(b.In), body...)
		riemann.EndFrame(b.In, start)
	}
	b.Start(frame.OwnReply)
	return b
}

// work works a burst to its end, as a pool would.
func (b *bench) work(t *testing.T, burst *frame.Burst) {
	t.Helper()
	for n := 0; ; n++ {
		status := b.worker.Work(burst)
		if status == frame.Done {
			return
		}
		if status == frame.Blocked || n > 1000 {
			t.Fatalf("status %v after %d slices", status, n)
		}
	}
}

// ask works one burst of Msgs and returns the replies.
func (b *bench) ask(t *testing.T, bodies ...[]byte) []*pb.Msg {
	t.Helper()
	return replies(t, b.taken(t, newBurst(bodies...), nil))
}

func replies(t *testing.T, out []byte) []*pb.Msg {
	t.Helper()
	var all []*pb.Msg
	for len(out) > 0 {
		body, rest := frame.Next(out)
		m := &pb.Msg{}
		if err := proto.Unmarshal(body, m); err != nil {
			t.Fatal(err)
		}
		all = append(all, m)
		out = rest
	}
	return all
}

func encode(t *testing.T, m *pb.Msg) []byte {
	t.Helper()
	b, err := proto.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func eventsOf(n int) *pb.Msg {
	m := &pb.Msg{}
	for i := range n {
		m.Events = append(m.Events, &pb.Event{Host: proto.String("h"), Service: proto.String(fmt.Sprint("s", i)), State: proto.String("ok")})
	}
	return m
}

func queryOf(text string) *pb.Msg { return &pb.Msg{Query: &pb.Query{String_: proto.String(text)}} }

func TestReplies(t *testing.T) {
	large := eventsOf(2)
	large.Events[0].Description = proto.String(strings.Repeat("x", 1000))
	onlyLarge := &pb.Msg{Events: large.Events[:1]}
	both := eventsOf(3)
	both.Query = queryOf("true").Query
	for _, tc := range []struct {
		name   string
		body   []byte
		events int    // in the reply
		err    string // what the error must hold
	}{
		{name: "an empty Msg", body: nil},
		{name: "events", body: encode(t, eventsOf(3))},
		{name: "only legacy states", body: []byte{0x22, 3, 0x12, 1, 'x'}},
		{name: "an unknown field", body: []byte{0xf8, 0x7f, 1}},
		{name: "a query without matches", body: encode(t, queryOf(`host = "nobody"`))},
		{name: "a query without text", body: []byte{0x2a, 0}, err: "parse error"},
		{name: "events and a query: the events are applied first", body: encode(t, both), events: 3},
		{name: "a query that does not parse", body: encode(t, queryOf("host = = 1")), err: "parse error"},
		{name: "bytes that are no Msg", body: []byte{0xff}, err: "the Msg"},
		{name: "an attribute without key", body: []byte{0x32, 4, 0x4a, 2, 0x12, 0}, err: "events[0]"},
		{name: "an event over the limit among others", body: encode(t, large)},
		{name: "only events over the limit", body: encode(t, onlyLarge), err: "1000 bytes (--max-event)"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			b := newBench(nil)
			got := b.ask(t, tc.body, nil) // and an empty one behind it, which must be answered too
			if len(got) != 2 || got[1].Ok == nil || !*got[1].Ok {
				t.Fatalf("got %d replies; want 2, the second an ack", len(got))
			}
			m := got[0]
			if m.Ok == nil || *m.Ok != (tc.err == "") || !strings.Contains(m.GetError(), tc.err) || len(m.Events) != tc.events {
				t.Errorf("got ok %v, error %q, %d events", m.GetOk(), m.GetError(), len(m.Events))
			}
			if (m.Error != nil) != (tc.err != "") {
				t.Error("an error stands on the wire though there is none, or none though there is one")
			}
		})
	}
}

func TestAcksAreExactlyTheirBytes(t *testing.T) {
	b := newBench(nil)
	burst := newBurst(encode(t, eventsOf(2)), nil)
	b.work(t, burst)
	if want := strings.Repeat("\x00\x00\x00\x02\x10\x01", 2); string(burst.Out) != want {
		t.Errorf("got %x; want %x", burst.Out, want)
	}
}

func TestNothingOfAnUndecodableMsgIsApplied(t *testing.T) {
	b := newBench(nil)
	b.ask(t, append(encode(t, eventsOf(5)), 0xff))
	if n := b.Store.Stats().Entries; n != 0 {
		t.Errorf("%d events of an undecodable Msg are in the index", n)
	}
}

func TestRefusedEvents(t *testing.T) {
	b := newBench(func(r *Riemann) {
		r.Store = index.NewMap(index.Config{Shards: 1, Entries: index.Limit{Flag: "--index-entries", Value: 2}})
	})
	got := b.ask(t, encode(t, eventsOf(3)), encode(t, &pb.Msg{Events: eventsOf(4).Events[3:]}))
	if !got[0].GetOk() {
		t.Errorf("error %q, though two of three events were taken", got[0].GetError())
	}
	if got[1].GetOk() || !strings.Contains(got[1].GetError(), "--index-entries") {
		t.Errorf("ok %v, error %q; want the flag, because no event was taken", got[1].GetOk(), got[1].GetError())
	}
	if len(b.reports) != 2 {
		t.Errorf("reports %q; want two", b.reports)
	}
}

// Msgs whose events are applied together are answered each for itself.
func TestRefusalsAreChargedToTheirMsg(t *testing.T) {
	const limit = 1500
	b := newBench(func(r *Riemann) {
		r.Store = index.NewMap(index.Config{Shards: 1, Entries: index.Limit{Flag: "--index-entries", Value: limit}})
	})
	known := eventsOf(1)
	bodies := [][]byte{encode(t, known), encode(t, eventsOf(limit))} // more than are viewed at once
	want := []bool{true, true}
	for i := range 100 {
		m := &pb.Msg{Events: eventsOf(1).Events}
		if i%3 == 0 {
			m.Events[0].Host = proto.String(fmt.Sprint("new", i))
		}
		bodies, want = append(bodies, encode(t, m)), append(want, i%3 != 0)
	}
	bodies, want = append(bodies, []byte{0xff}, encode(t, known)), append(want, false, true)
	got := b.ask(t, bodies...)
	if len(got) != len(want) {
		t.Fatalf("%d replies to %d Msgs", len(got), len(want))
	}
	for i := range got {
		if got[i].GetOk() != want[i] {
			t.Errorf("Msg %d: ok %v, error %q; want ok %v", i, got[i].GetOk(), got[i].GetError(), want[i])
		}
	}
	if n := b.Store.Stats().Entries; n != limit {
		t.Errorf("%d entries; want %d", n, limit)
	}
}

func TestWindowBlocksBetweenFrames(t *testing.T) {
	b := newBench(nil)
	b.ask(t, encode(t, eventsOf(10)))
	burst := newBurst(encode(t, queryOf("true")), nil, nil)
	burst.Window = 10
	if got := b.worker.Work(burst); got != frame.Blocked {
		t.Fatalf("status %v; want Blocked", got)
	}
	first := replies(t, burst.Out)
	if len(first) != 1 || len(first[0].Events) != 10 {
		t.Fatalf("%d replies before the window; want the first one, whole", len(first))
	}
	r := burst.TakeReply()
	r.Release()
	burst.Start(frame.OwnReply)
	burst.Window = 1000
	if got := b.worker.Work(burst); got != frame.Done || len(replies(t, burst.Out)) != 2 {
		t.Errorf("status %v, %d replies after the window; want Done and 2", got, len(replies(t, burst.Out)))
	}
}

func TestLongQueriesAreWorkedInSlices(t *testing.T) {
	b := newBench(nil)
	const entries = 25_000
	for range 25 {
		b.ask(t, manyEvents(t, b, entries/25))
	}
	burst := newBurst(encode(t, queryOf(`service = "nobody"`)), nil)
	slices := 1
	for b.worker.Work(burst) == frame.Yielded {
		slices++
	}
	if want := entries/sliceEntries + 1; slices != want {
		t.Errorf("%d slices for %d entries; want %d", slices, entries, want)
	}
	if got := replies(t, burst.Out); len(got) != 2 || len(got[0].Events) != 0 {
		t.Errorf("%d replies; want 2, the first without events", len(got))
	}
}

// What is kept of a Msg that is applied in slices is small, however many Msgs without
// events stand in front of it.
func TestFewMsgsAreOwedBetweenSlices(t *testing.T) {
	const empty = 9000
	now := time.Duration(0)
	b := newBench(func(r *Riemann) {
		r.Elapsed = func() time.Duration { now += sliceTime; return now }
	})
	burst := newBurst(append(make([][]byte, empty), bytes.Repeat([]byte{6<<3 | 2, 0}, 4000))...)
	slices := 0
	out := b.taken(t, burst, func() {
		slices++
		if a, ok := burst.Kept.(*applying); ok && len(a.owed) > mostOwed {
			t.Fatalf("%d Msgs are owed between two slices; want at most %d", len(a.owed), mostOwed)
		}
	})
	if got := replies(t, out); len(got) != empty+1 || slices == 0 {
		t.Errorf("%d replies in %d slices; want %d in some", len(got), slices+1, empty+1)
	}
}

var nextHost int

func manyEvents(t *testing.T, b *bench, n int) []byte {
	m := eventsOf(n)
	nextHost++
	for _, e := range m.Events {
		e.Host = proto.String(fmt.Sprint("h", nextHost))
	}
	return encode(t, m)
}

func TestAGoneBurstStopsAtItsNextFrameOrSlice(t *testing.T) {
	b := newBench(nil)
	for range 25 {
		b.ask(t, manyEvents(t, b, 1000))
	}
	burst := newBurst(encode(t, queryOf(`service = "nobody"`)), encode(t, eventsOf(1)))
	if got := b.worker.Work(burst); got != frame.Yielded {
		t.Fatalf("status %v; want Yielded", got)
	}
	before := b.QueryLog.Count(querylog.Slices)
	burst.SetGone()
	if got := b.worker.Work(burst); got != frame.Done || burst.Kept == nil {
		t.Errorf("status %v, kept %v; want Done, and the rest left to the burst's owner", got, burst.Kept)
	}
	if n := b.QueryLog.Count(querylog.Slices) - before; n != 0 {
		t.Errorf("%d slices were begun for nobody", n)
	}
	if n := b.counters[msgs].Load(); n != 26 {
		t.Errorf("%d Msgs were begun; want 25 and the query", n)
	}
}

// A store that misbehaves under a query, or by itself.
type brokenStore struct {
	index.Store
	search func(q index.Matcher)
}

func (s brokenStore) Search(q index.Matcher, cur *index.Cursor, dst []byte, limit int) []byte {
	s.search(q)
	return dst
}

func TestAPanicInAQueryIsAnsweredAndOneInTheIndexIsNot(t *testing.T) {
	b := newBench(func(r *Riemann) {
		r.Store = brokenStore{r.Store, func(q index.Matcher) { q.Match(nil) }} // no event: the query's own code breaks
	})
	got := b.ask(t, encode(t, queryOf(`host = "x"`)), nil)
	if got[0].GetOk() || !strings.Contains(got[0].GetError(), "internal error") || !got[1].GetOk() {
		t.Errorf("ok %v, error %q, next ok %v", got[0].GetOk(), got[0].GetError(), got[1].GetOk())
	}
	if n := b.counters[panics].Load(); n != 1 || len(b.reports) != 1 || !strings.Contains(b.reports[0], "goroutine") {
		t.Errorf("%d panics are counted, reports %q; want one with its stack", n, b.reports)
	}

	b.Store = brokenStore{b.Store, func(index.Matcher) { panic("BUG: damage") }}
	defer func() {
		if recover() == nil {
			t.Error("a panic in the index was caught")
		}
	}()
	b.ask(t, encode(t, queryOf(`host = "x"`)))
}

func TestALargeQueryTakesItsRoomWhileItRuns(t *testing.T) {
	b := newBench(nil)
	for range 25 {
		b.ask(t, manyEvents(t, b, 1000))
	}
	large := encode(t, queryOf(`service ~= "`+strings.Repeat("(ab|c)", 300)+`"`))
	burst := newBurst(large)
	if got := b.worker.Work(burst); got != frame.Yielded || burst.Extra.Stats().Taken == 0 {
		t.Fatalf("status %v, %d bytes taken; want some while it runs", got, burst.Extra.Stats().Taken)
	}
	burst.GiveUp()
	if n := burst.Extra.Stats().Taken; n != 0 {
		t.Errorf("%d bytes are still taken after it was given up", n)
	}
	burst = newBurst(large)
	b.work(t, burst)
	if n := burst.Extra.Stats().Taken; n != 0 {
		t.Errorf("%d bytes are still taken after its end", n)
	}
	burst = newBurst(large)
	burst.Extra = frame.NewReserve(10)
	b.work(t, burst)
	if got := replies(t, burst.Out); got[0].GetOk() || !strings.Contains(got[0].GetError(), "--memory") {
		t.Errorf("ok %v, error %q; want it to name --memory", got[0].GetOk(), got[0].GetError())
	}
}

func TestAQueryThatCostsTooMuchIsAnswered(t *testing.T) {
	b := newBench(func(r *Riemann) { r.MaxEvent.Value = 1 << 20 })
	m := eventsOf(1)
	m.Events[0].Description = proto.String(strings.Repeat("x", 500_000))
	b.ask(t, encode(t, m))
	text := `description ~= "` + strings.Repeat("y?", 500) + `z"`
	got := b.ask(t, encode(t, queryOf(text)), encode(t, queryOf(`description ~= "x"`)))
	if got[0].GetOk() || !strings.Contains(got[0].GetError(), "500000 bytes") {
		t.Errorf("ok %v, error %q; want it to name the length of the text", got[0].GetOk(), got[0].GetError())
	}
	if len(got[1].Events) != 1 {
		t.Error("a query that costs little finds nothing")
	}
	if b.QueryLog.Count(querylog.TooCostly) != 1 || b.counters[panics].Load() != 0 {
		t.Error("it is not counted as what it is")
	}
}

// A slice ends by the clock, whatever the query costs.
func TestSlicesEndInTime(t *testing.T) {
	var now time.Duration
	b := newBench(func(r *Riemann) {
		r.Elapsed = func() time.Duration { now += 300 * time.Microsecond; return now }
	})
	for range 3 {
		b.ask(t, manyEvents(t, b, 1000))
	}
	burst := newBurst(encode(t, queryOf(`service = "nobody"`)))
	slices := 1
	for b.worker.Work(burst) == frame.Yielded {
		slices++
	}
	if slices < 2 {
		t.Error("a query of 6 steps of 300 µs each was worked in one slice")
	}
}

// clockBench is a bench whose clock goes on by a step at each look.
func clockBench(step time.Duration, change func(*Riemann)) *bench {
	var now time.Duration
	return newBench(func(r *Riemann) {
		r.Elapsed = func() time.Duration { now += step; return now }
		if change != nil {
			change(r)
		}
	})
}

// taking are two workers that take turns.
type taking [2]frame.Worker

func (w *taking) Work(b *frame.Burst) frame.Status {
	w[0], w[1] = w[1], w[0]
	return w[0].Work(b)
}

// A Msg of very many events is applied in slices, by whichever worker, and answered as if
// it were not.
func TestAMsgOfManyEventsIsAppliedInSlices(t *testing.T) {
	const count, limit = 10_000, 9_000
	b := clockBench(400*time.Microsecond, func(r *Riemann) {
		r.Store = index.NewMap(index.Config{Shards: 1, Entries: index.Limit{Flag: "--index-entries", Value: limit}})
	})
	m := eventsOf(count)
	m.Query = queryOf(`service = "s8999"`).Query
	burst := newBurst(nil, encode(t, m), encode(t, eventsOf(1)))
	b.worker = &taking{b.worker, b.Protocol().NewWorker()}
	slices := 1
	out := b.taken(t, burst, func() { slices++ })
	if slices < 4 {
		t.Errorf("%d events were applied in %d slices of three steps", count, slices)
	}
	got := replies(t, out)
	if len(got) != 3 || !got[1].GetOk() || len(got[1].Events) != 1 || !got[2].GetOk() {
		t.Errorf("%d replies, the second with %d events; want 3, the second with one", len(got), len(got[1].Events))
	}
	if n := b.counters[refusedEvents].Load(); n != count-limit {
		t.Errorf("%d events are counted as refused; want %d", n, count-limit)
	}
	if n := b.counters[events].Load(); n != count+1 {
		t.Errorf("%d events are counted; want %d", n, count+1)
	}
}

// Pipelined queries have their turn together: when it is over what is answered leaves, and
// the rest comes up again.
func TestATurnEndsBetweenFrames(t *testing.T) {
	b := clockBench(300*time.Microsecond, nil)
	b.ask(t, encode(t, eventsOf(3)))
	var bodies [][]byte
	for range 20 {
		bodies = append(bodies, encode(t, queryOf("true")))
	}
	burst := newBurst(bodies...)
	turns, answered := 1, 0
	for status := b.worker.Work(burst); status != frame.Done; status = b.worker.Work(burst) {
		if turns++; status != frame.Blocked {
			continue
		}
		answered += len(replies(t, burst.Out))
		r := burst.TakeReply()
		r.Release()
		burst.Start(frame.OwnReply)
	}
	if answered += len(replies(t, burst.Out)); answered != 20 || turns < 5 {
		t.Errorf("%d replies in %d turns; want 20 in some more", answered, turns)
	}
}

func TestForeignProtocolsAreNamed(t *testing.T) {
	for head, want := range map[string]string{
		"GET / HT": "an HTTP request", "POST /ev": "an HTTP request", "PUT /eve": "an HTTP request", "HEAD / H": "an HTTP request",
		"SSH-2.0-": "an SSH client", "\x16\x03\x01\x02\x00\x01\x00\x01": "a TLS client", "\xff\xff\xff\xff": "",
	} {
		_, err := frame.CutLengthPrefixed([]byte(head), frame.Limit{Flag: "--max-frame", Value: 1 << 20}, 1, false, nil)
		if got := foreign(err); err == nil || got != want {
			t.Errorf("%q: got %q, error %v; want %q", head, got, err, want)
		}
	}
}
