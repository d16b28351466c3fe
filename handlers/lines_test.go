package handlers

import (
	"bytes"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"darboux/frame"
	"darboux/handlers/graphite"
	"darboux/handlers/index"
	"darboux/handlers/opentsdb"
	"darboux/handlers/riemann"
	"darboux/handlers/series"
)

// recordingStore writes down the events that it is given and then takes them.
type recordingStore struct {
	index.Store
	applied []string
}

func (s *recordingStore) Apply(events []riemann.Event, now int64, refused []bool) int {
	for i := range events {
		e := &events[i]
		s.applied = append(s.applied, fmt.Sprintf("%q %q %v %d %v", e.HostBytes(), e.ServiceBytes(), e.D, e.At(now), e.TTL))
	}
	return s.Store.Apply(events, now, refused)
}

// lineBench is lines with an index of their own, with the time standing still.
type lineBench struct {
	*Lines
	store   *recordingStore
	reports []string
}

func newLineBench(change func(*Lines)) *lineBench {
	b := &lineBench{store: &recordingStore{Store: index.NewMap(index.Config{Shards: 1, DefaultTTL: 60})}}
	b.Lines = &Lines{
		Name:    "graphite",
		Parse:   (*graphite.Templates)(nil).Parse,
		Store:   b.store,
		MaxLine: frame.Limit{Flag: "--max-line", Value: 64},
		TTL:     180,
		Now:     func() int64 { return benchTime },
		Report:  func(kind, peer, text string) { b.reports = append(b.reports, kind+" of "+peer+": "+text) },
	}
	if change != nil {
		change(b.Lines)
	}
	return b
}

// statOf returns a counter by the end of its name.
func statOf(t *testing.T, stats []frame.Stat, name string) int64 {
	t.Helper()
	for _, s := range stats {
		if strings.HasSuffix(s.Name, name) {
			return s.Value
		}
	}
	t.Fatalf("no counter is called %s", name)
	return 0
}

// workStream works a stream as a loop and a handler would, in bursts of about room
// bytes, its bytes arriving in pieces.
func workStream(w frame.Worker, p *frame.Protocol, pieces [][]byte, room int) {
	var unread []byte
	var progress frame.Progress
	take := func(ended bool) {
		for {
			cut, err := p.Cut(unread, p.MaxFrame, room, ended, &progress)
			if err != nil {
				panic(err)
			}
			unread = unread[cut.Skip:]
			if cut.Frames == 0 {
				return
			}
			burst := &frame.Burst{In: bytes.Clone(unread[:cut.Bytes]), Window: 1 << 20, Peer: "peer:1"}
			unread, progress = unread[cut.Bytes:], cut.Behind
			if status := w.Work(burst); status != frame.Done || burst.Next != len(burst.In) {
				panic(fmt.Sprintf("status %v at %d of %d", status, burst.Next, len(burst.In)))
			}
			for i := range burst.In {
				burst.In[i] = 0xdd // nothing of it may be held
			}
		}
	}
	for _, piece := range pieces {
		unread = append(unread, piece...)
		take(false)
	}
	take(true)
}

// Any cut of a stream of lines gives the same events in the same order, and the same
// numbers of bad lines.
func TestAnyCutGivesTheSameEvents(t *testing.T) {
	line := rapid.OneOf(
		rapid.SampledFrom([]string{
			"a.b.c 1 1700000000", "m;host=x;k=v 2.5 1700000000", "m; 1", "m;=x 1", "m;a 1", "m;a=1;a=2 1", "m;host=y 1", "a nan 1", "a inf", "\r", "",
			"\x00\xff 1", "a 1 2 3", "a", strings.Repeat("long.", 12) + " 1", strings.Repeat("x", 200), "ä 1 -1", "b 7 N \t\r",
		}),
		rapid.StringMatching(`[a-c]{1,3} [0-9]{1,3}( 1[0-9]{9})?`),
		rapid.Custom(func(t *rapid.T) string {
			return strings.ReplaceAll(string(rapid.SliceOfN(rapid.Byte(), 0, 100).Draw(t, "rubbish")), "\n", "")
		}),
	)
	rapid.Check(t, func(t *rapid.T) {
		lines := rapid.SliceOfN(line, 0, 30).Draw(t, "lines")
		stream := []byte(strings.Join(lines, "\n"))
		if rapid.Bool().Draw(t, "ends") {
			stream = append(stream, '\n')
		}
		var pieces [][]byte
		for rest := stream; len(rest) > 0; {
			n := rapid.IntRange(1, len(rest)).Draw(t, "read")
			pieces, rest = append(pieces, rest[:n]), rest[n:]
		}
		whole, cut := newLineBench(nil), newLineBench(nil)
		workStream(whole.Protocol().NewWorker(), whole.Protocol(), [][]byte{stream}, 1<<20)
		workStream(cut.Protocol().NewWorker(), cut.Protocol(), pieces, rapid.IntRange(1, 200).Draw(t, "room"))
		if !reflect.DeepEqual(cut.store.applied, whole.store.applied) {
			t.Fatalf("got %q; as a whole %q", cut.store.applied, whole.store.applied)
		}
		if !reflect.DeepEqual(cut.Stats(), whole.Stats()) {
			t.Fatalf("counted %v; as a whole %v", cut.Stats(), whole.Stats())
		}
	})
}

func TestBadLinesAreCountedAndTheirNeighboursStand(t *testing.T) {
	b := newLineBench(nil)
	rubbish := make([]byte, 40)
	for i := range rubbish {
		rubbish[i] = byte(0x80 + i)
	}
	stream := strings.Join([]string{
		"good.1 1 1700000000", string(rubbish), "a\x00b 1 2", "good.2 2 1700000000\r", "x nan 1", "y inf 1", "z 1e999 1",
		strings.Repeat("x", 1<<20), "good.3 3 1700000000 ", "\r", "", " ", "one", "a b c d", "a b 1", "a 1 b", "m; 1", "m;=x 1", "m;a 1", ";a=b 1",
		"last 4",
	}, "\n")
	workStream(b.Protocol().NewWorker(), b.Protocol(), [][]byte{[]byte(stream)}, 64<<10)
	want := []string{
		`"" "good.1" 1 1700000000000000 180`, `"" "good.2" 2 1700000000000000 180`,
		`"" "good.3" 3 1700000000000000 180`, fmt.Sprintf(`"" "last" 4 %d 180`, benchTime),
	}
	if !reflect.DeepEqual(b.store.applied, want) {
		t.Errorf("applied %q; want %q", b.store.applied, want)
	}
	for name, n := range map[string]int64{
		"lines": 21, "bad: not text": 2, "bad: value not finite": 3, "bad: too long": 1, "bad: number of fields": 2, "bad: value": 1,
		"bad: time": 1, "bad: tag": 3, "bad: no name": 1, "bad: unknown command": 0, "bad: panic": 0, "events refused": 0,
	} {
		if got := statOf(t, b.Stats(), " "+name); got != n {
			t.Errorf("%s: %d; want %d", name, got, n)
		}
	}
	all := strings.Join(b.reports, "\n")
	for _, part := range []string{
		`bad graphite line: value not finite of peer:1: 3 at once, the first begins "x nan 1"`,
		`bad graphite line: too long of peer:1: 1 at once, of 64 bytes or more (--max-line), the first begins "` + strings.Repeat("x", 64) + `"`,
		`not text of peer:1: 2 at once, the first begins "\x80\x81`,
	} {
		if !strings.Contains(all, part) {
			t.Errorf("the reports don't say %s:\n%s", part, all)
		}
	}
	kinds := map[string]bool{}
	for _, r := range b.reports {
		kind, _, _ := strings.Cut(r, " of peer:1: ")
		kinds[kind] = true // the rate of each is limited by itself
	}
	if len(b.reports) != 8 || len(kinds) != 8 {
		t.Errorf("%d reports of 8 kinds of bad lines in one burst:\n%s", len(b.reports), all)
	}
}

func TestRefusedLinesAreCounted(t *testing.T) {
	b := newLineBench(func(l *Lines) {
		l.Store = index.NewMap(index.Config{Shards: 1, Entries: index.Limit{Flag: "--index-entries", Value: 300}})
	})
	var stream []byte
	for i := range 1000 {
		stream = fmt.Appendf(stream, "a.%d 1\n", i)
	}
	workStream(b.Protocol().NewWorker(), b.Protocol(), [][]byte{stream}, 64<<10)
	if n := statOf(t, b.Stats(), "events refused"); n != 700 || b.Store.Stats().Entries != 300 {
		t.Errorf("%d events refused, %d entries; want 700 and 300", n, b.Store.Stats().Entries)
	}
	if len(b.reports) == 0 || !strings.Contains(b.reports[0], "--index-entries") {
		t.Errorf("reports %q; want the flag", b.reports)
	}
}

func TestAPanicCostsOneLine(t *testing.T) {
	b := newLineBench(func(l *Lines) {
		parse := l.Parse
		l.Parse = func(p *series.Point, line []byte) series.Problem {
			if bytes.HasPrefix(line, []byte("broken")) {
				panic("at it")
			}
			return parse(p, line)
		}
	})
	workStream(b.Protocol().NewWorker(), b.Protocol(), [][]byte{[]byte("a 1\nbroken 2\nb 3\n")}, 64<<10)
	if len(b.store.applied) != 2 || statOf(t, b.Stats(), "bad: panic") != 1 {
		t.Errorf("applied %q, counted %v", b.store.applied, b.Stats())
	}
	if len(b.reports) != 2 || !strings.Contains(b.reports[0], "goroutine") {
		t.Errorf("reports %q; want one with a stack and one of the line", b.reports)
	}
}

func newOpenTSDB() *lineBench {
	return newLineBench(func(l *Lines) {
		l.Name, l.Parse, l.Reply = "opentsdb", opentsdb.Parse, opentsdb.Reply("darboux 1", 64, "--max-line")
	})
}

func TestRepliesOfLines(t *testing.T) {
	b := newOpenTSDB()
	long := strings.Repeat("x", 64)
	burst := &frame.Burst{In: []byte("version\nput a 1 2 host=x\n\nput a 1\r\nbye\n" + long + "\nput b 1 3"), Window: 1 << 10}
	if got := b.Protocol().NewWorker().Work(burst); got != frame.Done {
		t.Errorf("status %v; want Done", got)
	}
	want := "darboux 1\nnumber of fields: \"put a 1\"\nunknown command: \"bye\"\n" +
		"too long: with its newline over the limit of 64 bytes (--max-line): \"" + long + "\"\n"
	if string(burst.Out) != want {
		t.Errorf("replied %q; want %q", burst.Out, want)
	}
	if len(b.store.applied) != 2 {
		t.Errorf("applied %q; want two", b.store.applied)
	}
}

func TestLinesStopAtTheWindowAndWhenGone(t *testing.T) {
	b := newOpenTSDB()
	w := b.Protocol().NewWorker()
	burst := &frame.Burst{In: bytes.Repeat([]byte("put a 1 2\nversion\n"), 10), Window: 30}
	rounds := 1
	for ; w.Work(burst) == frame.Blocked; rounds++ {
		if len(burst.Out) != 30 {
			t.Fatalf("%d bytes of replies in a window of 30", len(burst.Out))
		}
		burst.Out = nil
	}
	if rounds != 4 || len(b.store.applied) != 10 || statOf(t, b.Stats(), " lines") != 20 {
		t.Errorf("%d rounds, %d points, %d lines; want 4, 10, 20", rounds, len(b.store.applied), statOf(t, b.Stats(), " lines"))
	}
	burst = &frame.Burst{In: []byte("put a 1 2\n"), Window: 30}
	burst.SetGone()
	if got := w.Work(burst); got != frame.Done || burst.Next != 0 {
		t.Errorf("status %v at %d; want Done, nothing worked", got, burst.Next)
	}
}

func FuzzLines(f *testing.F) {
	f.Add([]byte("a.b.c 1 2\r\nd 3"), 5)
	f.Add([]byte("m;\nm;=x 1\nm;a 1\nm;a=1;a=2 1\nm;host=h 1\n"), 3)
	f.Add(append(bytes.Repeat([]byte("x"), 200), "\na 1\n"...), 64)
	f.Add([]byte("\r\r\n\x00\xff\n 1 1"), 1)
	f.Fuzz(func(t *testing.T, stream []byte, size int) {
		size = 1 + size&0xff
		var pieces [][]byte
		for rest := stream; len(rest) > 0; rest = rest[min(size, len(rest)):] {
			pieces = append(pieces, rest[:min(size, len(rest))])
		}
		whole, cut := newLineBench(nil), newLineBench(nil)
		workStream(whole.Protocol().NewWorker(), whole.Protocol(), [][]byte{stream}, 1<<20)
		workStream(cut.Protocol().NewWorker(), cut.Protocol(), pieces, size)
		if !reflect.DeepEqual(cut.store.applied, whole.store.applied) || !reflect.DeepEqual(cut.Stats(), whole.Stats()) {
			t.Fatalf("got %q; as a whole %q", cut.store.applied, whole.store.applied)
		}
	})
}

// A stream of lines of the usual size costs no allocation at all once the worker knows
// them.
func TestLinesAllocateNothing(t *testing.T) {
	x := index.New(index.Config{DefaultTTL: 60})
	defer x.Close()
	b := newLineBench(func(l *Lines) { l.Store = x })
	for name, protocol := range map[string]*frame.Protocol{"stream": b.Protocol(), "datagrams": b.Datagrams()} {
		w := protocol.NewWorker()
		lines := bytes.Repeat([]byte("servers.web1.cpu 8.73583984375 1700000000\nm;host=h;k=v 1 1700000000\n\n"), 500)
		burst := &frame.Burst{In: lines, Window: 1 << 10}
		if name == "datagrams" {
			burst = datagramBurst(lines[:10_000], lines[:10_000])
			burst.In = bytes.Clone(burst.In)
		}
		if n := testing.AllocsPerRun(20, func() {
			burst.Next = 0
			if got := w.Work(burst); got != frame.Done {
				t.Errorf("status %v", got)
			}
		}); n > 0 && !raceEnabled {
			t.Errorf("%s: %v allocations a burst", name, n)
		}
	}
	if n := statOf(t, b.Stats(), "lines bad: too long"); n != 0 || len(b.reports) > 0 {
		t.Errorf("reports %q", b.reports)
	}
}
