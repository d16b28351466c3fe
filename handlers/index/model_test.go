package index

import (
	"fmt"
	"hash/maphash"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"darboux/handlers/riemann"
)

// matchFunc is a query by a function.
type matchFunc func(e *riemann.Event) bool

func (f matchFunc) Match(e *riemann.Event) bool { return f(e) }

// pair is an index and the model that it must equal.
type pair struct {
	real  *Index
	model *Map
	now   int64 // wall clock, microseconds

	// what the listeners were told of each key
	realTold, modelTold map[string][]string
}

func newPair(t *rapid.T, cfg Config) *pair {
	p := &pair{now: 1_700_000_000_000_000}
	cfg.Monotonic = func() time.Duration { return time.Duration(p.now) * time.Microsecond }
	p.real, p.model = New(cfg), NewMap(cfg)
	if rapid.Bool().Draw(t, "hashes collide") {
		p.real.hasher.text = func(seed maphash.Seed, b []byte) uint64 { return maphash.Bytes(seed, b) % 3 }
	}
	if rapid.Bool().Draw(t, "someone listens") {
		p.realTold, p.modelTold = listen(p.real), listen(p.model)
	}
	return p
}

// listen notes each change by its key.
func listen(s Store) map[string][]string {
	told := map[string][]string{}
	s.Listen(func(c *Change) {
		key := keyOf(c.Event)
		told[key] = append(told[key], fmt.Sprintf("%d %d %x", c.Kind, c.Event.Set, c.Event.Raw))
	})
	return told
}

// contents are all events that match, as fields of a Msg, sorted. The search is
// done in slices of that many entries.
func contents(s Store, q Matcher, slice, limit int) []string {
	var all []string
	for cur := (Cursor{Slice: slice}); !cur.Done; {
		all = append(all, fieldsOf(s.Search(q, &cur, nil, limit))...)
	}
	slices.Sort(all)
	return all
}

// fieldsOf are the events of the body of a Msg.
func fieldsOf(body []byte) (fields []string) {
	var m riemann.Msg
	if err := m.Parse(body, 0); err != nil {
		panic(err)
	}
	for m.Next() {
		for i := range m.Events {
			fields = append(fields, string(m.Events[i].Raw))
		}
	}
	return fields
}

func (p *pair) compare(t *rapid.T, q Matcher) {
	slice := rapid.IntRange(0, 20).Draw(t, "slice")
	limit := rapid.SampledFrom([]int{0, 1, 500, 100_000}).Draw(t, "limit")
	got, want := contents(p.real, q, slice, limit), contents(p.model, q, slice, limit)
	if !slices.Equal(got, want) {
		t.Fatalf("found %q\nwant  %q", got, want)
	}
}

func (p *pair) compareStats(t *rapid.T) {
	got, want := p.real.Stats(), p.model.Stats()
	got.HeldBytes, got.FreeBytes, got.Pins, got.OrphanBytes = 0, 0, 0, 0
	got.Searches, got.Streams = SearchStats{}, StreamStats{}
	if got != want {
		t.Fatalf("counted %+v\nwant    %+v", got, want)
	}
}

// apply gives the same events to both.
func (p *pair) apply(t *rapid.T, most int) {
	var batch []wire
	for range rapid.IntRange(1, most).Draw(t, "events") {
		batch = append(batch, wires(p.now).Draw(t, "wire"))
	}
	if rapid.IntRange(0, 9).Draw(t, "more than is worked together") == 0 {
		again := rapid.Permutation(batch).Draw(t, "again")
		batch = append(slices.Repeat(batch, batchEvents/len(batch)), again...)
	}
	var refused [2][]bool
	for i, s := range []Store{p.real, p.model} {
		refused[i] = make([]bool, len(batch))
		n := s.Apply(viewed(t, batch...), p.now, refused[i])
		if n != count(refused[i]) {
			t.Fatalf("%d events refused, but Apply says %d", count(refused[i]), n)
		}
	}
	if !slices.Equal(refused[0], refused[1]) {
		t.Fatalf("refused %v, want %v", refused[0], refused[1])
	}
}

func count(refused []bool) (n int) {
	for _, r := range refused {
		if r {
			n++
		}
	}
	return n
}

func (p *pair) expire(t *rapid.T) {
	if got, want := p.real.Expire(p.now), p.model.Expire(p.now); got != want {
		t.Fatalf("%d entries expired, want %d", got, want)
	}
}

func (p *pair) check(t *rapid.T) {
	if err := p.real.check(); err != nil {
		t.Fatalf("an invariant does not hold: %v", err)
	}
	p.compareStats(t)
	for key, want := range p.modelTold {
		if got := p.realTold[key]; !slices.Equal(got, want) {
			t.Fatalf("of key %q was told %q\nwant %q", key, got, want)
		}
	}
	if len(p.realTold) != len(p.modelTold) {
		t.Fatalf("changes of %d keys were told, want %d", len(p.realTold), len(p.modelTold))
	}
}

// queries are some that use what an entry keeps beside the stored form.
var someQueries = []matchFunc{
	func(*riemann.Event) bool { return true },
	func(e *riemann.Event) bool { return e.HostBytes() == nil },
	func(e *riemann.Event) bool { return string(e.StateBytes()) == "critical" },
	func(e *riemann.Event) bool { return e.Tagged("production") },
	func(e *riemann.Event) bool { return e.TTLNumber().Kind == riemann.Integer },
	func(e *riemann.Event) bool { return e.TimeNumber().Kind == riemann.Float },
	func(e *riemann.Event) bool { return e.Metric().Kind == riemann.Absent },
}

func TestEqualsModel(t *testing.T) {
	for _, shards := range []int{1, 16} {
		t.Run(fmt.Sprint(shards, " shards"), rapid.MakeCheck(func(t *rapid.T) {
			equalsModel(t, Config{
				Shards:     shards,
				DefaultTTL: 10,
				NewestWins: rapid.Bool().Draw(t, "newest wins"),
				ExpireKeep: rapid.SampledFrom([]riemann.Fields{0, riemann.HasHost | riemann.HasService, keepNamed("all")}).Draw(t, "keep"),
			}, 100)
		}))
	}
}

// With a limit, which of a batch's keys still find room depends on the order of
// shards: so there is one shard.
func TestEqualsModelWithFewEntries(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		equalsModel(t, Config{Shards: 1, DefaultTTL: 10, Entries: Limit{"--index-entries", 5}}, 10)
	})
}

func equalsModel(t *rapid.T, cfg Config, most int) {
	p := newPair(t, cfg)
	defer p.real.Close()
	t.Repeat(map[string]func(*rapid.T){
		"apply":  func(t *rapid.T) { p.apply(t, most) },
		"expire": p.expire,
		"clock": func(t *rapid.T) {
			p.now += rapid.Int64Range(0, 8_000_000).Draw(t, "microseconds")
		},
		"search": func(t *rapid.T) {
			p.compare(t, someQueries[rapid.IntRange(0, len(someQueries)-1).Draw(t, "query")])
		},
		"snapshot": p.snapshotKeepsAll,
		"":         p.check,
	})
	p.compare(t, matchAll{})
}
