package handlers

import (
	"bytes"
	"net/netip"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"darboux/frame"
	"darboux/handlers/index"
	"darboux/handlers/querylog"
)

// newDatagramBench is newBench with the peers in its reports.
func newDatagramBench(change func(*Riemann)) *bench {
	b := newBench(change)
	b.Report = func(kind, peer, text string) { b.reports = append(b.reports, kind+" from "+peer+": "+text) }
	return b
}

func TestDatagramsOfMsgs(t *testing.T) {
	b := newDatagramBench(nil)
	w := b.Datagrams().NewWorker()
	both := eventsOf(3)
	both.Query = queryOf("true").Query
	large := eventsOf(1)
	large.Events[0].Description = proto.String(strings.Repeat("x", 1000))
	burst := datagramBurst(encode(t, eventsOf(2)), nil, []byte{0xff}, encode(t, both), encode(t, queryOf("host = =")), encode(t, large))
	if got := w.Work(burst); got != frame.Done || len(burst.Out) != 0 {
		t.Errorf("status %v, reply %q; want Done and none, ever", got, burst.Out)
	}
	if n := b.Store.Stats().Entries; n != 3 {
		t.Errorf("%d entries; want 3", n)
	}
	for what, want := range map[stat]int64{msgs: 6, undecodableDatagrams: 1, undecodable: 0, queriesIgnored: 2, events: 5, skippedEvents: 1} {
		if got := b.counters[what].Load(); got != want {
			t.Errorf("%s: %d; want %d", statNames[what], got, want)
		}
	}
	if n := b.QueryLog.Count(querylog.Asked); n != 0 {
		t.Errorf("%d queries of datagrams were asked", n)
	}
	if len(b.reports) != 2 || !strings.HasPrefix(b.reports[0], "undecodable datagram from 127.0.0.1:1002: ") || !strings.HasPrefix(b.reports[1], "events skipped from 127.0.0.1:1005: ") {
		t.Errorf("reports %q; want each with its sender", b.reports)
	}
}

func TestNothingOfAnUndecodableDatagramIsApplied(t *testing.T) {
	b := newBench(nil)
	bad := append(encode(t, eventsOf(5)), 0xff)
	b.Datagrams().NewWorker().Work(datagramBurst(bad, encode(t, eventsOf(2)), bad))
	if n := b.Store.Stats().Entries; n != 2 {
		t.Errorf("%d entries; want the 2 of the good datagram", n)
	}
}

func TestManyMsgDatagramsAreWorkedInSlices(t *testing.T) {
	b := newBench(nil)
	w := b.Datagrams().NewWorker()
	bodies := make([][]byte, 64)
	for i := range bodies {
		bodies[i] = manyEvents(t, b, 1500)
	}
	burst := datagramBurst(bodies...)
	slices := 1
	for ; w.Work(burst) == frame.Yielded; slices++ {
		if len(b.reports) > 0 {
			t.Fatal(b.reports)
		}
	}
	if each := datagramSlice/len(bodies[0]) + 1; slices < 64/each || slices > 64/each+1 {
		t.Errorf("%d slices for 64 datagrams of %d bytes", slices, len(bodies[0]))
	}
	if n := b.Store.Stats().Entries; n != 64*1500 {
		t.Errorf("%d entries; want %d", n, 64*1500)
	}
}

func TestRefusedEventsOfDatagramsAreCounted(t *testing.T) {
	b := newDatagramBench(func(r *Riemann) {
		r.Store = index.NewMap(index.Config{Shards: 1, Entries: index.Limit{Flag: "--index-entries", Value: 1}})
	})
	b.Datagrams().NewWorker().Work(datagramBurst(encode(t, eventsOf(2)), encode(t, eventsOf(3))))
	if n := b.counters[refusedEvents].Load(); n != 3 {
		t.Errorf("%d events refused; want 3", n)
	}
	if len(b.reports) != 2 || !strings.Contains(b.reports[1], "127.0.0.1:1001: 2 of a Msg's 3 events") {
		t.Errorf("reports %q", b.reports)
	}
}

// datagramBurst makes a burst of datagrams, each from a port of its place.
func datagramBurst(bodies ...[]byte) *frame.Burst {
	b := newBurst(bodies...)
	for i := range bodies {
		b.From = append(b.From, netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, 0, 0, 1}), uint16(1000+i)))
	}
	b.Peer = "socket"
	return b
}

func TestDatagramsOfLines(t *testing.T) {
	b := newLineBench(nil)
	w := b.Datagrams().NewWorker()
	burst := datagramBurst([]byte("a 1\nb 2"), nil, []byte("c 3\r\nd nan\n"), []byte("e inf\n\nf 4\n"))
	if got := w.Work(burst); got != frame.Done || len(burst.Out) != 0 {
		t.Errorf("status %v, reply %q", got, burst.Out)
	}
	if len(b.store.applied) != 4 || statOf(t, b.Stats(), " lines") != 7 {
		t.Errorf("applied %q, %d lines", b.store.applied, statOf(t, b.Stats(), " lines"))
	}
	if want := `bad graphite line: value not finite of 127.0.0.1:1002: 2 at once, the first begins "d nan"`; len(b.reports) != 1 || b.reports[0] != want {
		t.Errorf("reports %q; want %q", b.reports, want)
	}
}

func TestManyDatagramsAreWorkedInSlices(t *testing.T) {
	b := newLineBench(nil)
	w := b.Datagrams().NewWorker()
	body := bytes.Repeat([]byte("a.b.c 1\n"), 3000)
	bodies := make([][]byte, 20)
	for i := range bodies {
		bodies[i] = body
	}
	bodies[19] = []byte("bad nan")
	burst := datagramBurst(bodies...)
	slices := 1
	for ; w.Work(burst) == frame.Yielded; slices++ {
	}
	if want := 19/3 + 1; slices != want {
		t.Errorf("%d slices; want %d", slices, want)
	}
	if n := len(b.store.applied); n != 19*3000 {
		t.Errorf("%d events; want %d", n, 19*3000)
	}
	if len(b.reports) != 1 || !strings.Contains(b.reports[0], "127.0.0.1:1019") {
		t.Errorf("reports %q; want the last sender", b.reports)
	}
}

func FuzzDatagrams(f *testing.F) {
	f.Add([]byte("a 1\nb 2"), []byte{0x32, 2, 0x22, 0})
	f.Add([]byte("m;host=x 1 2\r\n\r\n"), []byte{0x2a, 3, 0x0a, 1, 'x'})
	f.Add([]byte{0, 0xff, '\n'}, []byte{0xff})
	f.Fuzz(func(t *testing.T, first, second []byte) {
		lines := newLineBench(nil)
		bench := newBench(nil)
		for _, w := range []frame.Worker{lines.Datagrams().NewWorker(), bench.Datagrams().NewWorker()} {
			burst := datagramBurst(first, second)
			for range 2 {
				if got := w.Work(burst); got != frame.Done || len(burst.Out) != 0 || burst.Next != len(burst.In) {
					t.Fatalf("status %v at %d of %d, reply %q", got, burst.Next, len(burst.In), burst.Out)
				}
				burst.Next = 0
			}
		}
		if n := bench.counters[msgs].Load(); n != 4 {
			t.Fatalf("%d Msgs of 4 datagrams are counted", n)
		}
	})
}
