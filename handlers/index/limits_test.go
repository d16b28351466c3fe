package index

import (
	"fmt"
	"strings"
	"testing"

	"darboux/handlers/riemann"
)

// New keys beyond the limit of entries are refused, whatever their number: the
// known ones are answered and taken, and the other events of each Msg as well.
func TestLimitOfEntries(t *testing.T) {
	offerTooMany(t, NewMap(Config{DefaultTTL: 60, Entries: Limit{"--index-entries", 1_000}}), 1_000, 20_000)
	most := 100_000
	if raceBuild {
		most = 10_000 // which takes long enough there
	}
	offerTooMany(t, newIndex(t, Config{DefaultTTL: 60, Entries: Limit{"--index-entries", int64(most)}}), most, 10*most)
}

// offerTooMany fills s with as many keys as its limit allows, and then offers new
// ones, nine in each Msg of ten events.
func offerTooMany(t *testing.T, s Store, most, offered int) {
	f := newFeed(most, 0, 1)
	f.fill(t, s, feedMicros)
	held := s.Stats().HeldBytes
	var refused [100]bool
	var m riemann.Msg
	for key := most; key < most+offered; {
		f.frame = f.frame[:0]
		for i := range refused {
			if i%10 == 3 {
				f.add(key % most)
				continue
			}
			f.add(key)
			key++
		}
		if err := m.Parse(f.frame, 0); err != nil {
			t.Fatal(err)
		}
		m.Next()
		if n := s.Apply(m.Events, feedMicros, refused[:]); n != 90 {
			t.Fatalf("%T: %d events refused, want 90", s, n)
		}
		for i := range refused {
			if refused[i] != (i%10 != 3) {
				t.Fatalf("%T: event %d refused: %v", s, i, refused[i])
			}
		}
	}
	st := s.Stats()
	if st.Entries != int64(most) || st.RefusedEntries < int64(offered) || st.Updated != st.RefusedEntries/9 || st.HeldBytes != held {
		t.Errorf("%T: counted %+v, held before were %d bytes", s, st, held)
	}
	if why := s.WhyRefused(); why == nil || !strings.Contains(why.Error(), fmt.Sprintf("--index-entries %d ", most)) {
		t.Errorf("%T: the reason is %v", s, why)
	}
	// when there is room again, new keys are taken
	if n := s.Expire(feedMicros + 1000*second); n != most {
		t.Fatalf("%T: %d entries expired, want %d", s, n, most)
	}
	f.fill(t, s, feedMicros)
}

// Known keys that grow beyond the limit of memory keep their old events; the
// memory held stays within the limit, and what is freed is used again.
func TestLimitOfMemory(t *testing.T) {
	const limit, keys = 24 << 20, 400
	x := newIndex(t, Config{Shards: 4, DefaultTTL: 60, Memory: Limit{"--index-memory", limit}})
	grown := func(i, size int) riemann.Record {
		return riemann.Record{Host: fmt.Sprint("h", i), State: fmt.Sprint(size), Description: strings.Repeat("d", size)}
	}
	for i := range keys {
		apply(t, x, grown(i, 150))
	}
	refused := 0
	for i := range keys {
		// between two that grow, one of a key that is known, and small
		events := viewed(t, wireOf(grown(i, 100_000)), wireOf(riemann.Record{Host: "small", State: fmt.Sprint(i)}))
		var no [2]bool
		refused += x.Apply(events, feedMicros, no[:])
		if no[1] {
			t.Fatal("a small event of a known key was refused")
		}
		if held := x.Stats().HeldBytes; held > limit {
			t.Fatalf("%d bytes are held, over the limit of %d", held, limit)
		}
	}
	x.mustHold(t)
	st := x.Stats()
	if refused == 0 || refused == keys || st.RefusedMemory != int64(refused) || st.Entries != keys+1 {
		t.Fatalf("%d events refused; counted %+v", refused, st)
	}
	if st.HeldBytes < limit*8/10 {
		t.Errorf("events are refused, but only %d bytes of %d are held", st.HeldBytes, limit)
	}
	if why := x.WhyRefused(); !strings.Contains(why.Error(), "--index-memory 25165824 ") {
		t.Errorf("the reason is %v", why)
	}
	large := matchFunc(func(e *riemann.Event) bool { return string(e.StateBytes()) == "100000" })
	small := matchFunc(func(e *riemann.Event) bool { return string(e.StateBytes()) == "150" })
	if l, s := len(contents(x, large, 0, 0)), len(contents(x, small, 0, 0)); l != keys-refused || s != refused {
		t.Errorf("%d entries have grown and %d are as before, want %d and %d", l, s, keys-refused, refused)
	}
	// what shrinks makes room for others
	for i := range keys {
		apply(t, x, grown(i, 150))
	}
	for i := range 200 {
		apply(t, x, grown(i, 100_000))
	}
}

// At the limit a known key's event may be replaced by a smaller one, though no chunk of the
// smaller size is free: it has to do with the larger.
func TestKnownKeysShrinkAtTheLimit(t *testing.T) {
	const limit, keys = 24 << 20, 8000
	x := newIndex(t, Config{Shards: 4, DefaultTTL: 60, Memory: Limit{"--index-memory", limit}})
	put := func(size int) (refused int) {
		for i := range keys {
			r := riemann.Record{Set: riemann.HasHost | riemann.HasDescription, Host: fmt.Sprint("h", i), Description: strings.Repeat("d", size)}
			refused += x.Apply(viewed(t, wireOf(r)), feedMicros, make([]bool, 1))
		}
		return refused
	}
	for _, size := range []int{150, 1500, 2500, 3200} {
		if refused := put(size); refused == 0 && size > 3000 {
			t.Fatalf("the limit is not reached with %d bytes for each key", size)
		}
	}
	for _, size := range []int{10, 150, 1000} {
		if refused := put(size); refused > 0 && size < 1000 {
			t.Errorf("%d of %d events of %d bytes were refused", refused, keys, size)
		}
		if held := x.Stats().HeldBytes; held > limit {
			t.Errorf("%d bytes are held, over the limit of %d", held, limit)
		}
		x.mustHold(t)
	}
}

func wireOf(r riemann.Record) wire { return r.AppendEvent(nil) }

// Postings have a reserve, but not more: a client that makes up states and tags
// of known keys gets refusals, not memory.
func TestLimitOfMemoryHoldsForPostings(t *testing.T) {
	const limit, keys = 4 << 20, 4_000
	x := newIndex(t, Config{Shards: 4, DefaultTTL: 60, Memory: Limit{"--index-memory", limit}})
	known := 0
	for i := range keys {
		if offer(t, x, riemann.Record{Host: fmt.Sprint("h", i), Description: strings.Repeat("d", 300)}) {
			known++
		}
	}
	refused := 0
	for i := range known {
		r := riemann.Record{Host: fmt.Sprint("h", i)}
		for k := range 40 {
			r.Tags = append(r.Tags, fmt.Sprint(i*40+k))
		}
		if !offer(t, x, r) {
			refused++
		}
		// each of the shards may take one more span for what was admitted
		if held := x.Stats().HeldBytes; held > limit+limit/8 {
			t.Fatalf("%d bytes are held, over the limit of %d", held, limit)
		}
	}
	if refused == 0 {
		t.Errorf("none of %d updates was refused", known)
	}
}

// However entries come, go, grow and shrink: after a run of the reaper less than
// the bound lies free between them, and memory that nobody uses is given back.
func TestFragmentationIsBounded(t *testing.T) {
	x := newIndex(t, Config{Shards: 2, DefaultTTL: 60})
	const keys = 4_000
	for round := range 6 {
		for i := range keys {
			size := 100 * (1 + (i*7+round*13)%9)
			apply(t, x, riemann.Record{Host: fmt.Sprint("h", i), State: fmt.Sprint(i * round % 500), Description: strings.Repeat("d", size)})
		}
		for i := range keys {
			if i%8 != round {
				apply(t, x, riemann.Record{Host: fmt.Sprint("h", i), State: "expired"})
			}
		}
		x.Expire(feedMicros)
		x.mustHold(t)
		for _, s := range x.shards {
			for name, slab := range map[string]*slab{"events": &s.events, "postings": &s.terms.slab} {
				for c := range slab.classes {
					if slab.sparse(classID(c)) {
						t.Errorf("round %d: %s: class %d has %d free chunks in %d spans of %d", round, name, c, slab.classes[c].free, slab.classes[c].spans, classID(c).perSpan())
					}
				}
			}
		}
	}
	for i := range keys {
		apply(t, x, riemann.Record{Host: fmt.Sprint("h", i), State: "expired"})
	}
	x.Expire(feedMicros)
	if st := x.Stats(); st.Entries != 0 || st.StoredBytes != 0 || st.FreeBytes != 0 || st.HeldBytes > 2<<20 {
		t.Errorf("an index that is empty again has %+v", st)
	}
}

// An empty index costs next to nothing.
func TestEmptyIndexIsSmall(t *testing.T) {
	if held := newIndex(t, Config{}).Stats().HeldBytes; held != 0 {
		t.Errorf("an empty index holds %d bytes", held)
	}
}
