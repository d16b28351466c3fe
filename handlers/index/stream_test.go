package index

import (
	"bytes"
	"fmt"
	"strings"
	"sync"
	"testing"

	"darboux/handlers/riemann"
)

// whole takes all out of a stream, in pieces, and returns the events by host.
func whole(t testing.TB, st Stream, piece int) map[string]string {
	t.Helper()
	var all []byte
	for done := false; !done; {
		var p []byte
		if p, done = st.Next(nil, piece); len(p) > piece+16 {
			t.Fatalf("a piece of %d bytes; want %d or a few more", len(p), piece)
		}
		if st.Broken() != nil {
			return nil
		}
		all = append(all, p...)
	}
	events := map[string]string{}
	for _, field := range fieldsOf(all) {
		events[string(viewed(t, wire(field))[0].HostBytes())] = field
	}
	return events
}

// streamOf is a stream of all that matches.
func streamOf(x *Index, q Matcher) Stream {
	st := x.Stream()
	for cur := (Cursor{Slice: 100}); !cur.Done && st.Broken() == nil; {
		st.Find(q, &cur)
	}
	return st
}

func hostNamed(i int) riemann.Record {
	return riemann.Record{Host: fmt.Sprint("host-", i), State: "ok", Description: strings.Repeat("d", 150)}
}

// Entries that many streams hold, more than their headers can count, are held until the
// last one lets go, whatever became of the keys.
func TestManyPinsOfAnEntry(t *testing.T) {
	x := newIndex(t, Config{Shards: 1, DefaultTTL: 60})
	const entries, streams = 10, 40
	for i := range entries {
		apply(t, x, hostNamed(i))
	}
	var all []Stream
	for range streams {
		all = append(all, streamOf(x, matchAll{}))
	}
	x.mustHold(t)
	for i := range entries / 2 {
		apply(t, x, riemann.Record{Host: fmt.Sprint("host-", i), State: "expired"})
	}
	if n := x.Stats().OrphanBytes; n == 0 {
		t.Error("nothing is kept of what was deleted")
	}
	for i, st := range all {
		x.mustHold(t)
		if i%2 == 0 {
			if n := len(whole(t, st, 1000)); n != entries {
				t.Errorf("stream %d has %d entries; want %d", i, n, entries)
			}
		}
		st.Release()
	}
	if s := x.Stats(); s.OrphanBytes != 0 || s.Pins != 0 || s.Streams.Bytes != 0 || s.Streams.Open != 0 {
		t.Errorf("all streams are released, but %+v", s)
	}
}

// Spans with entries that streams hold are emptied around these, and of the rest when they
// are let go.
func TestFragmentationUnderStreams(t *testing.T) {
	x := newIndex(t, Config{Shards: 1, DefaultTTL: 60})
	const entries = 20_000
	for i := range entries {
		apply(t, x, hostNamed(i))
	}
	some := matchFunc(func(e *riemann.Event) bool { return bytes.HasSuffix(e.HostBytes(), []byte("00")) })
	st := streamOf(x, some)
	for i := range entries {
		if i%10 != 0 || i%400 == 0 { // of the held ones one in four is deleted
			apply(t, x, riemann.Record{Host: fmt.Sprint("host-", i), State: "expired"})
		}
	}
	x.tidy()
	x.mustHold(t)
	for i := 0; i < entries; i += 10 {
		if i%400 != 0 {
			apply(t, x, hostNamed(i))
		}
	}
	x.tidy()
	x.mustHold(t)
	if n := len(whole(t, st, 10_000)); n != entries/100-1 {
		t.Errorf("%d entries in the stream; want %d", n, entries/100-1)
	}
	st.Release()
	x.tidy()
	x.mustHold(t)
	free := x.Stats()
	if held := x.shards[0].events.held; free.FreeBytes > held/2 {
		t.Errorf("%d of %d bytes are free when nothing is held any more", free.FreeBytes, held)
	}
	for c := range x.shards[0].events.classes {
		if n := x.shards[0].spansEmptying(classID(c)); n != 0 {
			t.Errorf("%d spans of class %d are still to become empty", n, c)
		}
	}
}

// spansEmptying counts the spans of a class with live entries that nothing is to be taken
// from.
func (s *shard) spansEmptying(c classID) int {
	seen := map[ref]bool{}
	for id := range s.ids.used {
		at := s.ids.ref(id)
		if at == 0 || s.entry(at).class != c {
			continue
		}
		if sp := s.events.spanOf(at, c); s.events.span(sp).list == emptyingSpan {
			seen[sp] = true
		}
	}
	return len(seen)
}

// Over the limit the youngest stream is given up, by whoever needs the room: the older
// ones go on, the limit holds, and everybody is served.
func TestStreamMemory(t *testing.T) {
	const entries = 1000
	x := newIndex(t, Config{Shards: 4, DefaultTTL: 60, StreamMemory: Limit{"--stream-memory", 450_000}})
	for i := range entries {
		apply(t, x, hostNamed(i))
	}
	older, younger := streamOf(x, matchAll{}), streamOf(x, matchAll{})
	overwrite := func(round int) {
		for i := range entries {
			apply(t, x, riemann.Record{Host: fmt.Sprint("host-", i), Description: strings.Repeat("e", 150+round)})
			if n := x.Stats().Streams.Bytes; n > 450_000 {
				t.Fatalf("streams take %d bytes", n)
			}
		}
		x.mustHold(t)
	}
	overwrite(1) // both hold the same old versions
	if older.Broken() != nil || younger.Broken() != nil {
		t.Fatal("a stream was given up within the limit")
	}
	third := streamOf(x, matchAll{})
	overwrite(2) // and this one others
	if older.Broken() != nil || younger.Broken() != nil || third.Broken() == nil {
		t.Errorf("given up: %v, %v, %v; want the youngest alone", older.Broken(), younger.Broken(), third.Broken())
	}
	if p, done := third.Next(nil, 100); len(p) > 0 || done {
		t.Errorf("a stream that is given up gives %d bytes, done %v", len(p), done)
	}
	if err := third.Broken(); err == nil || !strings.Contains(err.Error(), "--stream-memory 450000") {
		t.Errorf("it says %v", err)
	}
	fourth := streamOf(x, matchAll{})
	if fourth.Broken() != nil {
		t.Error("a stream was given up when there was room")
	}
	for _, st := range []Stream{third, older, younger, fourth} {
		if st.Broken() == nil && len(whole(t, st, 5000)) != entries {
			t.Error("entries are missing")
		}
		st.Release()
		x.mustHold(t)
	}
	x.streams.wait()
	if s := x.Stats().Streams; s != (StreamStats{Opened: 4, Broken: 1}) {
		t.Errorf("%+v", s)
	}
}

// A stream whose own list is too long is given up, and what it found goes on living.
func TestStreamTooLong(t *testing.T) {
	x := newIndex(t, Config{Shards: 2, DefaultTTL: 60, StreamMemory: Limit{"--stream-memory", 2 * blockBytes}})
	for i := range 4 * blockRefs {
		apply(t, x, hostNamed(i))
	}
	st := streamOf(x, matchAll{})
	if st.Broken() == nil {
		t.Error("it was not given up")
	}
	x.streams.wait()
	x.mustHold(t)
	st.Release()
	if n := len(contents(x, matchAll{}, 0, 0)); n != 4*blockRefs {
		t.Errorf("%d entries are left", n)
	}
}

// Who closes an index whose entries somebody still holds is told so.
func TestClosedUnderAStream(t *testing.T) {
	x := newIndex(t, Config{})
	apply(t, x, hostNamed(1))
	st := streamOf(x, matchAll{})
	defer st.Release()
	defer func() {
		if recover() == nil {
			t.Error("nobody minds")
		}
	}()
	x.Close()
}

func TestStreamReleasedTwice(t *testing.T) {
	x := newIndex(t, Config{})
	st := x.Stream()
	st.Release()
	defer func() {
		if recover() == nil {
			t.Error("nobody minds")
		}
	}()
	st.Release()
}

// Streams of several goroutines, while others insert, overwrite with other sizes, delete
// and expire: each has every key that stayed, each once and whole, unless it was given up.
// At the end nothing is held.
func TestStreamsWhileAllChanges(t *testing.T) {
	for _, memory := range []int64{0, 200_000} {
		t.Run(fmt.Sprint("memory=", memory), func(t *testing.T) {
			x := newIndex(t, Config{Shards: 2, DefaultTTL: 60, StreamMemory: Limit{"--stream-memory", memory}})
			streamsWhileAllChanges(t, x)
		})
	}
}

func streamsWhileAllChanges(t *testing.T, x *Index) {
	const stay = 600
	for i := range stay {
		apply(t, x, riemann.Record{Host: fmt.Sprint("stays-", i), Description: text(i)})
	}
	stop := make(chan struct{})
	var writers, readers sync.WaitGroup
	for g := range 2 {
		writers.Go(func() {
			for i := 0; ; i++ {
				select {
				case <-stop:
					return
				default:
				}
				apply(t, x, riemann.Record{Host: fmt.Sprint("stays-", i%stay), Description: text(i)})
				apply(t, x, riemann.Record{Host: fmt.Sprintf("comes-%d-%d", g, i%500), State: []string{"ok", "expired"}[i/500%2], Description: text(i)})
				apply(t, x, riemann.Record{Host: fmt.Sprintf("ends-%d", i%100), Set: riemann.HasTime | riemann.HasTTL, TTL: 1, Description: text(i)})
				if i%100 == 0 {
					x.Expire(feedMicros + 10_000_000)
				}
			}
		})
	}
	for g := range 3 {
		readers.Go(func() {
			for i := range 15 {
				q := Matcher(realQueries[0])
				if (g+i)%3 == 0 {
					q = compiled(`host ~= "."`)[0] // looks at entries without the lock
				}
				st := streamOf(x, q)
				checkTexts(t, st, i, stay)
				st.Release()
			}
		})
	}
	readers.Wait()
	close(stop)
	writers.Wait()
	x.streams.wait()
	x.mustHold(t)
	if s := x.Stats(); s.Pins != 0 || s.Streams.Bytes != 0 {
		t.Errorf("%d pins and %d bytes are left", s.Pins, s.Streams.Bytes)
	}
}

// checkTexts takes a stream out, or gives it up half way, and looks at what it is of.
func checkTexts(t *testing.T, st Stream, i, stay int) {
	if i%5 == 4 {
		st.Next(nil, 10_000)
		return
	}
	events := whole(t, st, 1<<(i%15)+50)
	if st.Broken() != nil {
		return
	}
	stays := 0
	for host, field := range events {
		e := viewed(t, wire(field))[0]
		if d := string(e.DescriptionBytes()); d != textOf(len(d)) {
			t.Errorf("%s is torn: %.50q", host, d)
		}
		if strings.HasPrefix(host, "stays-") {
			stays++
		}
	}
	if stays != stay {
		t.Errorf("%d of %d keys that stayed", stays, stay)
	}
}

// text is a text of some length.
func text(i int) string { return textOf(i * 37 % 1500) }

// textOf is a text of n bytes, which tell its length.
func textOf(n int) string { return strings.Repeat(string(rune('a'+n%26)), n) }
