package index

import (
	"fmt"
	"math"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"darboux/handlers/riemann"
)

const second = 1_000_000 // microseconds

func TestWhenEntriesExpire(t *testing.T) {
	const now = feedMicros
	for name, row := range map[string]struct {
		record riemann.Record
		before int64 // the last moment at which it does not expire, from now on; Never
	}{
		"the default ttl":             {riemann.Record{}, 60 * second},
		"a ttl":                       {riemann.Record{TTL: 1.5, Set: riemann.HasTTL}, 1.5 * second},
		"ttl 0":                       {riemann.Record{TTL: 0, Set: riemann.HasTTL}, 0},
		"a negative ttl":              {riemann.Record{TTL: -1, Set: riemann.HasTTL}, -1 * second},
		"a ttl that is NaN":           {riemann.Record{TTL: float32(math.NaN()), Set: riemann.HasTTL}, 0},
		"an infinite ttl":             {riemann.Record{TTL: float32(math.Inf(1)), Set: riemann.HasTTL}, riemann.Never},
		"a ttl beyond all times":      {riemann.Record{TTL: 1e38, Set: riemann.HasTTL}, riemann.Never},
		"the time of the event":       {riemann.Record{TimeMicros: now - 7*second, Set: riemann.HasTimeMicros}, 53 * second},
		"the event's time in seconds": {riemann.Record{Time: now/second - 70, Set: riemann.HasTime}, -10*second - now%second},
	} {
		for _, s := range []Store{NewMap(Config{DefaultTTL: 60}), newIndex(t, Config{DefaultTTL: 60})} {
			apply(t, s, row.record)
			if row.before == riemann.Never {
				if n := s.Expire(math.MaxInt64 - 1); n != 0 {
					t.Errorf("%T: %s: it expired", s, name)
				}
				continue
			}
			if n := s.Expire(now + row.before); n != 0 {
				t.Errorf("%T: %s: it expired too soon", s, name)
			}
			if n := len(contents(s, matchAll{}, 0, 0)); n != 1 {
				t.Errorf("%T: %s: it is not there before the run", s, name)
			}
			if n := s.Expire(now + row.before + 1); n != 1 {
				t.Errorf("%T: %s: it did not expire", s, name)
			}
		}
	}
}

// Deadlines are kept in ticks, but compared to the microsecond, whatever is due beside
// them, and before the first tick and behind the last one as well.
func TestExpiryIsExact(t *testing.T) {
	const tick = int64(1) << tickShift
	behind := int64(tickBase) + int64(lastTick)<<tickShift
	for name, from := range map[string]int64{
		"today": feedMicros, "the beginning of a tick": feedMicros / tick * tick, "before the first tick": -5 * second,
		"the first tick": tickBase, "the last tick": behind, "behind the last tick": behind + 1000*tick,
	} {
		x := newIndex(t, Config{Shards: 1})
		const entries = 700 // in several blocks, and more than one step takes out
		for i := range entries {
			apply(t, x, riemann.Record{Host: fmt.Sprint("h", i), TimeMicros: from + int64(i%100), TTL: 0, Set: riemann.HasTimeMicros | riemann.HasTTL})
		}
		apply(t, x, riemann.Record{Host: "stays", TTL: float32(math.Inf(1)), Set: riemann.HasTTL})
		for _, i := range []int64{0, 1, 2, 20, 21, 99, 100, 101} {
			want := min(i, 100) * entries / 100
			if x.Expire(from + i); x.Stats().Expired != want {
				t.Fatalf("%s: %d microseconds later %d are expired, want %d", name, i, x.Stats().Expired, want)
			}
			x.mustHold(t)
		}
	}
}

// clocks are a wall clock, in microseconds, and a monotonic one that tests set.
type clocks struct{ wall, mono int64 }

func (c *clocks) monotonic() time.Duration { return time.Duration(c.mono) * time.Microsecond }

// pass lets time pass on both clocks.
func (c *clocks) pass(microseconds int64) { c.wall += microseconds; c.mono += microseconds }

func TestClockJumps(t *testing.T) {
	const entries = 4_000
	c := &clocks{wall: feedMicros}
	var reports []string
	x := newIndex(t, Config{
		DefaultTTL: 60,
		Monotonic:  c.monotonic,
		Report:     func(kind, text string) { reports = append(reports, kind+": "+text) },
	})
	f := newFeed(entries, 0, 1)
	f.fill(t, x, c.wall)
	expire := func(want int) {
		t.Helper()
		if n := x.Expire(c.wall); n != want {
			t.Fatalf("%d entries expired, want %d", n, want)
		}
	}
	expire(0)
	c.pass(5 * second)
	expire(0)
	c.wall += 3600 * second // someone sets the clock
	c.pass(5 * second)
	expire(leastPace)
	if len(reports) != 1 || !strings.HasPrefix(reports[0], "clock jump: ") || !strings.Contains(reports[0], "forward by 1h0m0s") {
		t.Fatalf("reported was %q", reports)
	}
	f.moment = c.wall // the clients go on
	f.fill(t, x, c.wall)
	c.pass(5 * second)
	expire(0)
	if n := x.Stats().Entries; n != entries {
		t.Fatalf("%d entries are left, want all %d", n, entries)
	}
	c.pass(100 * second) // the clients fall silent: that is no jump, so nothing is paced
	expire(entries)
	c.wall -= 7200 * second
	expire(0)
	if len(reports) != 2 || !strings.Contains(reports[1], "back by 2h0m0s") || x.Stats().ClockJumps != 2 {
		t.Fatalf("reported was %q", reports)
	}
}

// What a jump makes due is gone at last if nobody refreshes it.
func TestClockJumpIsPaced(t *testing.T) {
	const entries = 10_000
	c := &clocks{wall: feedMicros}
	x := newIndex(t, Config{DefaultTTL: 60, Monotonic: c.monotonic})
	newFeed(entries, 0, 1).fill(t, x, c.wall)
	x.Expire(c.wall)
	c.wall += 3600 * second
	runs := 0
	for x.Stats().Entries > 0 {
		c.pass(5 * second)
		if n := x.Expire(c.wall); n == 0 || n > leastPace {
			t.Fatalf("%d entries expired in a run", n)
		}
		runs++
	}
	if want := (entries + leastPace - 1) / leastPace; runs != want {
		t.Errorf("it took %d runs, want %d", runs, want)
	}
}

func TestParseKeep(t *testing.T) {
	for text, want := range map[string]riemann.Fields{
		"host":         riemann.HasHost,
		"host,service": riemann.HasHost | riemann.HasService,
		"metric":       riemann.HasSint64 | riemann.HasD | riemann.HasF,
		"all":          keepNamed("host") | keepNamed("service") | keepNamed("description") | keepNamed("metric") | keepNamed("ttl") | keepNamed("tags") | keepNamed("attributes"),
	} {
		if got, err := ParseKeep(strings.Split(text, ",")); err != nil || got != want {
			t.Errorf("%s: %b, %v; want %b", text, got, err, want)
		}
	}
	for _, name := range []string{"", "state", "time", "Host"} {
		if _, err := ParseKeep([]string{name}); err == nil || !strings.Contains(err.Error(), fmt.Sprintf("%q", name)) {
			t.Errorf("%q: %v", name, err)
		}
	}
}

// The notice of an expiry has a time and a state of its own, and of the event what
// is to be kept.
func TestExpiredNotice(t *testing.T) {
	event := riemann.Record{
		Set:  riemann.HasSint64 | riemann.HasTTL,
		Host: "h", Service: "s", State: "ok", Description: "d", Sint64: 7, TTL: 10,
		Tags: []string{"x", "y"}, Attributes: []riemann.Pair{{Key: "k", Value: "v"}},
	}
	const later = feedMicros + 20*second
	for keep, want := range map[string]riemann.Record{
		"host":         {Host: "h"},
		"host,service": {Host: "h", Service: "s"},
		"all": {
			Set:  riemann.HasSint64 | riemann.HasTTL,
			Host: "h", Service: "s", Description: "d", Sint64: 7, TTL: 10,
			Tags: []string{"x", "y"}, Attributes: []riemann.Pair{{Key: "k", Value: "v"}},
		},
	} {
		fields, err := ParseKeep(strings.Split(keep, ","))
		if err != nil {
			t.Fatal(err)
		}
		want.State, want.Time, want.TimeMicros = "expired", later/second, later
		want.Set |= riemann.HasTime | riemann.HasTimeMicros
		for _, s := range []Store{NewMap(Config{ExpireKeep: fields}), newIndex(t, Config{ExpireKeep: fields})} {
			apply(t, s, event)
			var got []string
			s.Listen(func(c *Change) {
				if c.Kind != Expired || c.Event.Set&riemann.IsStored != 0 {
					t.Errorf("%T: %s: a change of kind %d, fields %b", s, keep, c.Kind, c.Event.Set)
				}
				got = append(got, string(c.Event.Raw))
			})
			s.Expire(later)
			if len(got) != 1 || got[0] != string(want.AppendEvent(nil)) {
				t.Errorf("%T: %s: told was %q, want %q", s, keep, got, want.AppendEvent(nil))
			}
		}
	}
}

// Keys are refreshed in the moment in which they expire. A notice of an expiry
// must only come while the key's last event was really due, and in the end exactly
// those keys are there whose last change was a refresh.
func TestRefreshRacesWithExpiry(t *testing.T) {
	for name, s := range map[string]Store{
		"map":   NewMap(Config{Shards: 2, ExpireKeep: keepNamed("all")}),
		"index": newIndex(t, Config{Shards: 2, ExpireKeep: keepNamed("all")}),
	} {
		t.Run(name, func(t *testing.T) { refreshRaces(t, s) })
	}
}

func refreshRaces(t *testing.T, s Store) {
	const keys, rounds, ttl = 16, 3000, 1
	var wall atomic.Int64
	wall.Store(feedMicros)
	var mu sync.Mutex
	deadlines := map[string]int64{} // of the events that are there
	inserted, expired := 0, 0
	s.Listen(func(c *Change) {
		mu.Lock()
		defer mu.Unlock()
		key := string(c.Event.HostBytes())
		deadline, there := deadlines[key]
		if c.Kind == Inserted {
			deadlines[key] = c.Event.Deadline(0, 0)
			inserted++
			return
		}
		expired++
		if !there || deadline >= c.Event.TimeMicros {
			t.Errorf("%s expired at %d, but is there: %v, until %d", key, c.Event.TimeMicros, there, deadline)
		}
		delete(deadlines, key)
	})
	var all sync.WaitGroup
	for g := range 3 {
		all.Go(func() {
			for i := range rounds {
				now := wall.Load()
				r := riemann.Record{Host: fmt.Sprint("k", (i*7+g)%keys), TimeMicros: now, TTL: ttl, Set: riemann.HasTimeMicros | riemann.HasTTL}
				s.Apply(viewed(t, r.AppendEvent(nil)), now, make([]bool, 1))
			}
		})
	}
	all.Go(func() {
		for range rounds {
			s.Expire(wall.Add(ttl * second / 4))
		}
	})
	all.Wait()
	if n := len(contents(s, matchAll{}, 0, 0)); n != len(deadlines) {
		t.Errorf("%d entries are there, but by what was told there are %d", n, len(deadlines))
	}
	if st := s.Stats(); inserted != 3*rounds || st.Expired != int64(expired) || st.Inserted != st.Expired+st.Entries {
		t.Errorf("told were %d inserted and %d expired; counted %+v", inserted, expired, st)
	}
}
