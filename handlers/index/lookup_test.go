package index

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"darboux/handlers/query"
	"darboux/handlers/riemann"
)

// realQueries are queries that go all the ways that there are.
var realQueries = compiled(
	`true`,
	`false`,
	`host = "a"`,
	`host = "a" and service = "s"`,
	`host = "a" and service = nil`,
	`host = nil`,
	`not service = "s"`,
	`state = "critical"`,
	`state != "ok"`,
	`tagged "production"`,
	`tagged "x" and not tagged "y"`,
	`tagged "t"`,
	`host =~ "web%"`,
	`service =~ "disk%"`,
	`service =~ "%l%"`,
	`service ~= "^d"`,
	`description =~ "d%" and metric > 0`,
	`ttl = 10 or time > 0`,
	`host = "a" or host = "b"`,
	`(host = "a" or tagged "x") and state = "ok"`,
	`host = "a" or false`,
	`host =~ "a%" or service =~ "d%" or host = "b" and service = "s"`,
	`host = "c" or (state = "ok" and (tagged "x" or service =~ "t%"))`,
	`(host = "a" and host = "b") or tagged "long"`,
	`state = "ok" or state = "critical" or state = "" or state = nil`,
	`host = "a" and description ~= "^d+$"`,
)

func compiled(texts ...string) (all []*query.Query) {
	for _, text := range texts {
		q, err := query.Compile(text)
		if err != nil {
			panic(err)
		}
		all = append(all, q)
	}
	return all
}

func anyRealQuery(t *rapid.T) *query.Query {
	return realQueries[rapid.IntRange(0, len(realQueries)-1).Draw(t, "query")]
}

// A search in slices, by whatever way and into whatever, while all changes.
type underWay struct {
	q      *query.Query
	store  Store
	cur    Cursor
	stream Stream // nil: matches are appended to found
	found  []byte

	always   map[string]bool            // keys that matched since the search began
	versions map[string]map[string]bool // that keys had since then
}

// begin begins a search of x, whose contents are as the model's.
func begin(t *rapid.T, p *pair) *underWay {
	u := &underWay{
		q: anyRealQuery(t), store: p.real,
		cur:      Cursor{Slice: rapid.SampledFrom([]int{1, 2, 5, 200}).Draw(t, "slice")},
		always:   map[string]bool{},
		versions: map[string]map[string]bool{},
	}
	if rapid.Bool().Draw(t, "into a stream") {
		u.stream = p.real.Stream()
	}
	for key, version := range p.matching(u.q) {
		u.always[key] = true
		u.versions[key] = map[string]bool{version: true}
	}
	return u
}

// matching are the events that match in the model, by key.
func (p *pair) matching(q Matcher) map[string]string {
	all := map[string]string{}
	for _, field := range contents(p.model, q, 0, 0) {
		var e riemann.Event
		if err := e.Parse([]byte(field)); err != nil {
			panic(err)
		}
		all[keyOf(&e)] = field
	}
	return all
}

// changed notes what the keys are now.
func (u *underWay) changed(p *pair) {
	if u.cur.Done {
		return
	}
	now := p.matching(u.q)
	for key := range u.always {
		if _, ok := now[key]; !ok {
			delete(u.always, key)
		}
	}
	for key, version := range now {
		if u.versions[key] == nil {
			u.versions[key] = map[string]bool{}
		}
		u.versions[key][version] = true
	}
}

func (u *underWay) slice(limit int) {
	switch {
	case u.cur.Done:
	case u.stream != nil:
		u.stream.Find(u.q, &u.cur)
	default:
		u.found = append(u.found, u.store.Search(u.q, &u.cur, nil, limit)...)
	}
}

// next takes the next piece out of a stream whose search is done.
func (u *underWay) next(limit int) (done bool) {
	if u.stream == nil {
		return true
	}
	var piece []byte
	piece, done = u.stream.Next(nil, limit)
	u.found = append(u.found, piece...)
	return done
}

// end finishes the search and checks what it found.
func (u *underWay) end(t *rapid.T) {
	for !u.cur.Done && u.broken() == nil {
		u.slice(0)
	}
	for u.broken() == nil && !u.next(100) {
	}
	if u.broken() == nil {
		u.check(t)
	}
	u.release()
}

func (u *underWay) broken() error {
	if u.stream == nil {
		return nil
	}
	return u.stream.Broken()
}

func (u *underWay) release() {
	if u.stream != nil {
		u.stream.Release()
	}
}

func (u *underWay) check(t *rapid.T) {
	seen := map[string]bool{}
	fields := fieldsOf(u.found)
	for _, field := range fields {
		e := viewed(t, wire(field))[0]
		key := keyOf(&e)
		switch {
		case seen[key]:
			t.Fatalf("%s: key %q was found twice", u.q, key)
		case !u.versions[key][field]:
			t.Fatalf("%s: key %q was found in a version that it never had: %#v", u.q, key, wire(field))
		}
		seen[key] = true
	}
	for key := range u.always {
		if !seen[key] {
			t.Fatalf("%s, by %v: key %q matched all the while, and was not found", u.q, u.cur.Way, key)
		}
	}
	if u.cur.Matched != len(fields) || u.cur.Bytes != int64(len(u.found)) {
		t.Fatalf("%d matches of %d bytes counted, found %d of %d", u.cur.Matched, u.cur.Bytes, len(fields), len(u.found))
	}
}

// Searches by all ways, into buffers and into streams, find every key that matches all the
// while, none twice, and each in a version that it had meanwhile, whatever is inserted,
// overwritten, deleted, expired and compacted; streams are released at any moment, or
// broken for want of memory. The invariants hold throughout.
func TestSearchesUnderWay(t *testing.T) {
	for _, shards := range []int{1, 4} {
		t.Run(fmt.Sprint(shards, " shards"), rapid.MakeCheck(func(t *rapid.T) {
			memory := rapid.SampledFrom([]int64{0, 30_000}).Draw(t, "stream memory")
			searchesUnderWay(t, Config{Shards: shards, DefaultTTL: 10, StreamMemory: Limit{"--stream-memory", memory}})
		}))
	}
}

func searchesUnderWay(t *rapid.T, cfg Config) {
	p := newPair(t, cfg)
	defer p.real.Close()
	var all []*underWay
	changed := func() {
		for _, u := range all {
			u.changed(p)
		}
	}
	one := func(t *rapid.T) int {
		if len(all) == 0 {
			t.Skip("no search is under way")
		}
		return rapid.IntRange(0, len(all)-1).Draw(t, "which")
	}
	t.Repeat(map[string]func(*rapid.T){
		"apply": func(t *rapid.T) {
			for range rapid.IntRange(1, 8).Draw(t, "changes") {
				p.apply(t, 1) // so that no version of a key is missed
				changed()
			}
		},
		"expire": func(t *rapid.T) {
			p.expire(t)
			changed()
		},
		"clock": func(t *rapid.T) { p.now += rapid.Int64Range(0, 8_000_000).Draw(t, "microseconds") },
		"begin": func(t *rapid.T) {
			if len(all) < 5 {
				all = append(all, begin(t, p))
			}
		},
		"slice": func(t *rapid.T) { all[one(t)].slice(rapid.SampledFrom([]int{0, 1, 300}).Draw(t, "limit")) },
		"next": func(t *rapid.T) {
			if u := all[one(t)]; u.cur.Done {
				u.next(rapid.SampledFrom([]int{1, 70, 5_000}).Draw(t, "piece"))
			}
		},
		"end": func(t *rapid.T) {
			i := one(t)
			all[i].end(t)
			all = slices.Delete(all, i, i+1)
		},
		"release": func(t *rapid.T) {
			i := one(t)
			all[i].release()
			all = slices.Delete(all, i, i+1)
		},
		"": func(t *rapid.T) {
			if err := p.real.check(); err != nil {
				t.Fatalf("an invariant does not hold: %v", err)
			}
			if n := p.real.streams.used.Load(); cfg.StreamMemory.exceededBy(n) {
				t.Fatalf("streams take %d bytes", n)
			}
		},
	})
	for _, u := range all {
		u.end(t)
	}
	if n := p.real.streams.used.Load(); n != 0 {
		t.Fatalf("no stream is left, but %d bytes are taken", n)
	}
}

// The index finds with real queries what the model does.
func TestQueriesEqualModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := newPair(t, Config{Shards: 1 << rapid.IntRange(0, 3).Draw(t, "shards"), DefaultTTL: 10})
		defer p.real.Close()
		for range rapid.IntRange(1, 10).Draw(t, "batches") {
			p.apply(t, 50)
		}
		for _, q := range realQueries {
			p.compare(t, q)
		}
	})
}

// Searches by postings of very many entries go through their ids in parts, and tables of
// very many terms in segments.
func TestLookupsOfManyIDs(t *testing.T) {
	const entries, hosts = setIDs + 100_000, 10_000
	x := newIndex(t, Config{Shards: 1, DefaultTTL: 60})
	var wires []wire
	for i := range entries {
		r := riemann.Record{Host: fmt.Sprint("h", i%hosts), Service: fmt.Sprint("s", i/hosts), State: "ok"}
		if i%1000 == 7 {
			r.Tags = []string{"rare"}
		}
		if wires = append(wires, r.AppendEvent(nil)); len(wires) == 1000 || i == entries-1 {
			if x.Apply(viewed(t, wires...), feedMicros, make([]bool, len(wires))) > 0 {
				t.Fatal(x.WhyRefused())
			}
			wires = wires[:0]
		}
	}
	for _, q := range compiled(
		`host =~ "h123%"`,
		`host =~ "h12%" and service =~ "s1%"`,
		`service = "s1" or service = "s20"`,
		`service =~ "s%" or host = "h5"`,
		`host =~ "h99%" or tagged "rare" or service = "s3"`,
		`tagged "rare"`,
	) {
		want := len(contents(x, matchFunc(q.Match), 0, 0)) // by scan
		var cur Cursor
		n := 0
		for cur = (Cursor{Slice: 5_000}); !cur.Done; {
			n += len(fieldsOf(x.Search(q, &cur, nil, 30_000)))
		}
		if n != want || n == 0 || cur.Way != ByPosting {
			t.Errorf("%s: found %d by %v; want %d by posting", q, n, cur.Way, want)
		}
	}
}

// A walk through terms meets each that is there all the while, though others come between
// its steps, and their table is split again and again.
func TestAWalkWhileTermsCome(t *testing.T) {
	const hosts, services = 2_000, 3
	x := newIndex(t, Config{Shards: 1, DefaultTTL: 60})
	for i := range hosts * services {
		apply(t, x, riemann.Record{Host: fmt.Sprint("stays-", i/services), Service: fmt.Sprint("s", i%services)})
	}
	before := x.shards[0].terms.tables[hostField].segments
	q := compiled(`host =~ "stays-%"`)[0]
	found := map[string]bool{}
	come := 0
	for cur := (Cursor{Slice: 1}); !cur.Done; {
		for _, field := range fieldsOf(x.Search(q, &cur, nil, 0)) {
			e := viewed(t, wire(field))[0]
			if key := keyOf(&e); found[key] {
				t.Errorf("%q was found twice", key)
			} else {
				found[key] = true
			}
		}
		if p := cur.plan; p != nil && p.phase == collectIDs {
			for range 100 {
				apply(t, x, riemann.Record{Host: fmt.Sprint("comes-", come), Service: "s"})
				come++
			}
		}
	}
	if len(found) != hosts*services {
		t.Errorf("found %d of %d", len(found), hosts*services)
	}
	if after := x.shards[0].terms.tables[hostField].segments; after < before+3 {
		t.Errorf("%d segments became only %d", before, after)
	}
}

// A search looks at no more entries than its way names, and says which that was.
func TestWays(t *testing.T) {
	const hosts, services = 50, 20
	x := newIndex(t, Config{Shards: 4, DefaultTTL: 60})
	for h := range hosts {
		for s := range services {
			r := riemann.Record{Host: fmt.Sprint("web", h), Service: fmt.Sprint("disk ", s), State: "ok"}
			if s == 0 {
				r.State, r.Tags = "critical", []string{"root"}
			}
			apply(t, x, r)
		}
	}
	for _, row := range []struct {
		text   string
		way    Way
		looked int
	}{
		{`false`, ByNothing, 0},
		{`host = "web1" and false`, ByNothing, 0},
		{`host = "web1" and service = "disk 1"`, ByKey, 1},
		{`host = "web1" and service = "disk 1" and state = "critical"`, ByKey, 1},
		{`host = "web1" and service = "none"`, ByKey, 0},
		{`host = "web1"`, ByPosting, services},
		{`service = "disk 1"`, ByPosting, hosts},
		{`state = "critical"`, ByPosting, hosts},
		{`tagged "root"`, ByPosting, hosts},
		{`host =~ "web1%"`, ByPosting, 11 * services},
		{`service =~ "disk 1%"`, ByPosting, 11 * hosts},
		{`host = "none"`, ByPosting, 0},
		{`host = "web1" or host = "web2"`, ByPosting, 2 * services},
		{`host = "web1" or state = "critical"`, ByPosting, services + hosts - 1},
		{`host = "web1" or service = "disk 1" and host = "web2"`, ByPosting, services + 1},
		{`(host = "web1" or host = "web2") and metric > 1`, ByPosting, 2 * services},
		{`state = "ok" and host = "web3"`, ByPosting, services},
		{`state = "ok" and (host = "web3" or host =~ "x%")`, ByPosting, services},
		{`metric > 1`, ByScan, hosts * services},
		{`not host = "web1"`, ByScan, hosts * services},
		{`host = "web1" or metric > 1`, ByScan, hosts * services},
		{`service =~ "%1%"`, ByScan, hosts * services},
	} {
		before := x.Stats().Searches
		cur := Cursor{}
		q := compiled(row.text)[0]
		found := len(fieldsOf(x.Search(q, &cur, nil, 0)))
		if cur.Way != row.way || cur.Looked != row.looked || cur.Matched != found {
			t.Errorf("%s: by %v, looked at %d, matched %d of %d; want by %v, %d", row.text, cur.Way, cur.Looked, cur.Matched, found, row.way, row.looked)
		}
		after := x.Stats().Searches
		by := [ways]int64{0, after.ByKey - before.ByKey, after.ByPosting - before.ByPosting, after.ByScan - before.ByScan}
		want := [ways]int64{}
		if row.way != ByNothing {
			want[row.way] = 1
		}
		if by != want {
			t.Errorf("%s: counted %v, want %v", row.text, by, want)
		}
		if n := after.Looked - before.Looked; n != int64(row.looked) {
			t.Errorf("%s: %d entries counted, want %d", row.text, n, row.looked)
		}
	}
}

// What is known of where an event's tags stand is not taken for known of the one that has
// its place in the next batch: that has the same tags there, and another one behind.
func TestTagsOfALargeEvent(t *testing.T) {
	x := New(Config{DefaultTTL: 60})
	defer x.Close()
	small := riemann.Record{Set: riemann.HasHost | riemann.HasService, Host: "a", Service: "s", Tags: []string{"x", "y"}}
	large := append(wire(small.AppendEvent(nil)), (&riemann.Record{Description: strings.Repeat("d", maxChunk), Set: riemann.HasDescription, Tags: []string{"z"}}).AppendEvent(nil)...)
	wires := slices.Repeat([]wire{small.AppendEvent(nil)}, batchEvents)
	x.Apply(viewed(t, append(wires, large)...), feedMicros, make([]bool, batchEvents+1))
	cur := Cursor{}
	x.Search(compiled(`tagged "z"`)[0], &cur, nil, 0)
	if cur.Matched != 1 || cur.Way != ByPosting {
		t.Errorf("%d events are found by the %v of a tag, want the large one", cur.Matched, cur.Way)
	}
}
