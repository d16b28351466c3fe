package handlers

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"darboux/frame"
	"darboux/handlers/index"
	"darboux/handlers/querylog"
	"darboux/handlers/riemann/pb"
)

// taken works a burst to its end, as a pool and a loop would whose connection takes all
// that is there each time, and returns what that is. In between is called before each
// further turn.
func (b *bench) taken(t *testing.T, burst *frame.Burst, between func()) []byte {
	t.Helper()
	var all []byte
	for turns := 0; ; turns++ {
		if turns > 10_000 {
			t.Fatal("there is no end")
		}
		status := b.worker.Work(burst)
		if most := burst.Window + frame.MaxSmallReply; len(burst.Out) > most || cap(burst.Out) > max(burst.Own, burst.Window+fieldHead) {
			t.Fatalf("%d bytes of replies in a buffer of %d; the window is %d, the room %d", len(burst.Out), cap(burst.Out), burst.Window, burst.Own)
		}
		if status == frame.Done {
			return append(all, burst.Out...)
		}
		if status == frame.Blocked {
			all = leave(all, burst)
		}
		if between != nil {
			between()
		}
	}
}

// leave appends a burst's replies to all, as a loop takes them, and starts it anew.
func leave(all []byte, burst *frame.Burst) []byte {
	all = append(all, burst.Out...)
	own := burst.Own
	r := burst.TakeReply()
	r.Release()
	burst.Start(own)
	return all
}

// largeEvents is a Msg of n events of about size bytes.
func largeEvents(n, size int) *pb.Msg {
	m := eventsOf(n)
	for _, e := range m.Events {
		e.Description = proto.String(strings.Repeat("x", size))
	}
	return m
}

// keyed are a reply's events by service. None may be there twice.
func keyed(t *testing.T, m *pb.Msg) map[string]*pb.Event {
	t.Helper()
	if !m.GetOk() {
		t.Fatalf("error %q", m.GetError())
	}
	all := map[string]*pb.Event{}
	for _, e := range m.Events {
		if all[e.GetService()] != nil {
			t.Errorf("%s is there twice", e.GetService())
		}
		all[e.GetService()] = e
	}
	return all
}

// stores are tests of the reply over both stores.
func stores(t *testing.T, test func(t *testing.T, b *bench)) {
	large := func(store index.Store) *bench {
		return newBench(func(r *Riemann) {
			r.Store, r.MaxEvent.Value, r.MaxFrame.Value = store, 1<<20, 1<<24
		})
	}
	t.Run("map", func(t *testing.T) { test(t, large(index.NewMap(index.Config{DefaultTTL: 60}))) })
	t.Run("index", func(t *testing.T) {
		x := index.New(index.Config{DefaultTTL: 60})
		test(t, large(x))
		for end := time.Now().Add(time.Minute); ; time.Sleep(time.Millisecond) { // a poll, bounded by its end
			s := x.Stats()
			if s.Pins == 0 && s.Streams.Open == 0 && s.Streams.Bytes == 0 {
				break
			}
			if time.Now().After(end) {
				t.Fatalf("at the end %d entries are pinned, %+v", s.Pins, s.Streams)
			}
		}
		x.Close()
	})
}

// Replies of all sizes around those of a buffer and a window are whole, in order with
// their neighbours, and never in the way of more memory than a window and one small reply.
func TestRepliesOfAnySize(t *testing.T) {
	stores(t, func(t *testing.T, b *bench) {
		for _, c := range []struct{ n, size int }{
			{1, 10}, {1, 65_400}, {1, 65_500}, {1, 65_600}, {1, 1_000_000}, {6, 10_000}, {7, 10_000},
			{100, 1000}, {1000, 100}, {5000, 200}, {3, 500_000},
		} {
			b.ask(t, encode(t, &pb.Msg{Events: largeEvents(c.n, c.size).Events}))
			burst := newBurst(nil, encode(t, queryOf("true")), nil, encode(t, queryOf("true")), encode(t, queryOf("host = nil")), nil)
			got := replies(t, b.taken(t, burst, nil))
			if len(got) != 6 {
				t.Fatalf("%d replies to 6 Msgs", len(got))
			}
			for i, want := range []int{0, c.n, 0, c.n, 0, 0} {
				if all := keyed(t, got[i]); len(all) != want {
					t.Errorf("%d events of %d bytes: reply %d has %d events, want %d", c.n, c.size, i, len(all), want)
				}
			}
			b.forget(t, c.n)
		}
		if b.counters[streamed].Load() == 0 {
			t.Error("no reply was streamed")
		}
	})
}

// forget deletes the events of eventsOf(n).
func (b *bench) forget(t *testing.T, n int) {
	t.Helper()
	m := eventsOf(n)
	for _, e := range m.Events {
		e.State = proto.String("expired")
	}
	b.ask(t, encode(t, m))
	if n := b.Store.Stats().Entries; n != 0 {
		t.Fatalf("%d entries are left", n)
	}
}

// Where memory is short, replies go on in small pieces.
func TestRepliesWhereMemoryIsShort(t *testing.T) {
	stores(t, func(t *testing.T, b *bench) {
		b.ask(t, encode(t, largeEvents(20, 30_000)))
		burst := newBurst()
		burst.In = newBurst(encode(t, queryOf("true")), encode(t, queryOf(`service = "s1"`)), nil).In
		r := burst.TakeReply()
		r.Release()
		burst.Extra = frame.NewReserve(0)
		burst.Start(4096)
		burst.Window = 2048
		got := replies(t, b.taken(t, burst, nil))
		if len(keyed(t, got[0])) != 20 || len(keyed(t, got[1])) != 1 || !got[2].GetOk() {
			t.Errorf("%d, %d events", len(got[0].Events), len(got[1].Events))
		}
		b.forget(t, 20)
	})
}

// A reply of what was there when it was found is sent whatever becomes of it: each key
// once, none missing that stayed, none torn.
func TestRepliesWhileAllChanges(t *testing.T) {
	const keys = 2000
	stores(t, func(t *testing.T, b *bench) {
		b.ask(t, encode(t, largeEvents(keys, 500)))
		turn := 0
		burst := newBurst(encode(t, queryOf("true")))
		got := replies(t, b.taken(t, burst, func() {
			m := largeEvents(keys, 100*(turn%17)+1)
			for i, e := range m.Events {
				if i%3 == 0 && i%2 == turn%2 {
					e.State = proto.String("expired")
				}
			}
			turn++
			b.ask(t, encode(t, m))
		}))
		if turn < 10 {
			t.Fatalf("there were only %d turns", turn)
		}
		all := keyed(t, got[0])
		for i := range keys {
			e := all[fmt.Sprint("s", i)]
			if e == nil && i%3 != 0 {
				t.Errorf("s%d stayed, and is missing", i)
			}
			if d := e.GetDescription(); d != strings.Repeat("x", len(d)) || e != nil && len(d) != 500 && len(d)%100 != 1 {
				t.Errorf("s%d is torn: %d bytes", i, len(d))
			}
		}
		b.ask(t, encode(t, eventsOf(keys)))
		b.forget(t, keys)
	})
}

// Above --max-reply the answer says how much there would be; the connection goes on.
func TestRepliesOverTheLimit(t *testing.T) {
	stores(t, func(t *testing.T, b *bench) {
		b.MaxReply.Value = 300_000
		b.ask(t, encode(t, largeEvents(1000, 500)))
		got := replies(t, b.taken(t, newBurst(encode(t, queryOf("true")), encode(t, queryOf(`service = "s1"`)), encode(t, queryOf("true"))), nil))
		whole := 0
		for _, e := range largeEvents(1000, 500).Events {
			whole += proto.Size(e)
		}
		var events, bytes int
		if _, err := fmt.Sscanf(got[0].GetError(), "reply of %d events in %d bytes", &events, &bytes); err != nil || events != 1000 || bytes < whole {
			t.Errorf("error %q; want it to name 1000 events and some %d bytes", got[0].GetError(), whole)
		}
		if text := got[0].GetError(); got[0].GetOk() || !strings.Contains(text, "300000 bytes (--max-reply)") || !strings.Contains(text, "narrow") {
			t.Errorf("ok %v, error %q", got[0].GetOk(), text)
		}
		if len(keyed(t, got[1])) != 1 || got[2].GetError() != got[0].GetError() {
			t.Error("the replies behind it are not right")
		}
		if n := b.counters[tooLarge].Load(); n != 2 {
			t.Errorf("%d are counted, want 2", n)
		}
		b.forget(t, 1000)
	})
}

// A burst that is given up in the middle of a reply holds nothing any more.
func TestAReplyGivenUp(t *testing.T) {
	stores(t, func(t *testing.T, b *bench) {
		b.ask(t, encode(t, largeEvents(1000, 500)))
		burst := newBurst(encode(t, queryOf("true")), nil)
		if status := b.worker.Work(burst); status != frame.Blocked || burst.Kept == nil {
			t.Fatalf("status %v", status)
		}
		burst.SetGone()
		if status := b.worker.Work(burst); status != frame.Done {
			t.Errorf("status %v when nobody waits any more", status)
		}
		burst.GiveUp()
		b.forget(t, 1000)
	})
}

// Without memory for streams a reply whose length has left ends with its connection, and
// one that has not begun is answered by the reason.
func TestRepliesWithoutStreamMemory(t *testing.T) {
	const limit = 100_000
	x := index.New(index.Config{DefaultTTL: 60, StreamMemory: index.Limit{Flag: "--stream-memory", Value: limit}})
	defer x.Close()
	b := newBench(func(r *Riemann) { r.Store = x })
	b.ask(t, encode(t, largeEvents(1000, 500)))
	burst := newBurst(encode(t, queryOf("true")), encode(t, queryOf("true")))
	if status := b.worker.Work(burst); status != frame.Blocked {
		t.Fatalf("status %v", status)
	}
	sent := len(burst.Out)
	if err := burst.Broken(); err != nil {
		t.Fatal(err)
	}
	b.ask(t, encode(t, largeEvents(1000, 600)))
	if err := burst.Broken(); err == nil || !strings.Contains(err.Error(), "--stream-memory 100000") {
		t.Errorf("the burst's owner sees %v", err)
	}
	if n := x.Stats().Streams.Bytes; n > limit {
		t.Errorf("streams take %d bytes", n)
	}
	burst.Window += len(burst.Out)
	if status := b.worker.Work(burst); status != frame.Done || !burst.Close || len(burst.Out) != sent {
		t.Errorf("status %v, close %v, %d bytes after %d", status, burst.Close, len(burst.Out), sent)
	}
	burst.GiveUp()
	if n := b.counters[brokenOff].Load(); n != 1 || !strings.Contains(strings.Join(b.reports, "\n"), "--stream-memory") {
		t.Errorf("%d are counted, reports %q", n, b.reports)
	}

	b.Store = &interrupted{Index: x, between: func() { b.ask(t, encode(t, largeEvents(1000, 501))) }}
	got := replies(t, b.taken(t, newBurst(encode(t, queryOf("true")), nil), nil))
	if got[0].GetOk() || !strings.Contains(got[0].GetError(), "--stream-memory") || !got[1].GetOk() {
		t.Errorf("ok %v, error %q, next ok %v", got[0].GetOk(), got[0].GetError(), got[1].GetOk())
	}
	if n := b.counters[noStreamMemory].Load(); n != 1 {
		t.Errorf("%d are counted", n)
	}
}

// interrupted is an index in whose streams something happens while all is found.
type interrupted struct {
	*index.Index
	between func()
}

func (i *interrupted) Stream() index.Stream { return &interruptedStream{i.Index.Stream(), i} }

type interruptedStream struct {
	index.Stream
	by *interrupted
}

func (s *interruptedStream) Find(q index.Matcher, cur *index.Cursor) {
	s.Stream.Find(q, cur)
	if between := s.by.between; cur.Looked > 900 && between != nil {
		s.by.between = nil
		between()
	}
}

// A trace says how a query was worked.
func TestTrace(t *testing.T) {
	x := index.New(index.Config{DefaultTTL: 60})
	defer x.Close()
	var traces []querylog.Trace
	b := newBench(func(r *Riemann) {
		r.Store = x
		r.QueryLog.Trace = func(trace *querylog.Trace) { traces = append(traces, *trace) }
	})
	b.ask(t, encode(t, largeEvents(200, 500)))
	got := replies(t, b.taken(t, newBurst(encode(t, queryOf(`service = "s1" and host = "h"`)), encode(t, queryOf(`metric > 1`)), encode(t, queryOf(`state = "ok"`))), nil))
	want := []querylog.Trace{
		{Peer: "peer:1", Query: `service = "s1" and host = "h"`, Way: index.ByKey, Looked: 1, Matched: 1, Bytes: int64(proto.Size(got[0]))},
		{Peer: "peer:1", Query: `metric > 1`, Way: index.ByScan, Looked: 200, Bytes: 2},
		{Peer: "peer:1", Query: `state = "ok"`, Way: index.ByPosting, Looked: 200, Matched: 200, Bytes: int64(proto.Size(got[2])), Streamed: true},
	}
	if fmt.Sprint(traces) != fmt.Sprint(want) {
		t.Errorf("got  %+v\nwant %+v", traces, want)
	}
}

// While a reply is on its way to its reader nothing is kept for it that only finding it took:
// the request's frame, if it was the last, and the compiled query.
func TestAReplyOnItsWayKeepsNoRequest(t *testing.T) {
	large := queryOf(`service ~= "` + strings.Repeat("(ab|c)?", 300) + `.*"`)
	for _, row := range []struct {
		name   string
		behind [][]byte
		drops  bool
	}{
		{"the last request", nil, true},
		{"one behind it", [][]byte{encode(t, largeEvents(1, 10))}, false},
	} {
		t.Run(row.name, func(t *testing.T) {
			b := newBench(nil)
			b.ask(t, encode(t, largeEvents(1000, 500)))
			burst := newBurst(append([][]byte{encode(t, large)}, row.behind...)...)
			status := b.worker.Work(burst)
			for status == frame.Yielded {
				status = b.worker.Work(burst)
			}
			if status != frame.Blocked {
				t.Fatalf("status %v, %.100q", status, burst.Out)
			}
			if (burst.In == nil) != row.drops {
				t.Errorf("%d bytes of requests are kept", len(burst.In))
			}
			if n := burst.Extra.Stats().Taken; n != 0 {
				t.Errorf("%d bytes are taken for the query", n)
			}
			if got := b.taken(t, burst, nil); len(got) == 0 {
				t.Error("nothing more came of the reply")
			}
		})
	}
}
