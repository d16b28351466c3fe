package index

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func newPages(limit int64) *pages { return &pages{limit: limit} }

// Pages are handed out to one at a time, keep what is written to them, and come
// as zeros where that was asked for.
func TestPages(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := newPages(300)
		defer p.close()
		type run struct {
			at   ref
			n    int
			mark byte
		}
		var out []run
		holds := func(r run) {
			b := p.bytes(r.at, r.n)
			if b[0] != r.mark || b[len(b)-1] != r.mark {
				t.Fatalf("a run of %d pages has not kept its contents", r.n)
			}
		}
		t.Repeat(map[string]func(*rapid.T){
			"take": func(t *rapid.T) {
				r := run{n: rapid.SampledFrom([]int{1, 1, 1, 2, 3, 4, 5, 7, 17, 100}).Draw(t, "pages"), mark: byte(rapid.IntRange(1, 255).Draw(t, "mark"))}
				if !p.admits(r.n, p.limit) {
					return
				}
				if rapid.Bool().Draw(t, "zeroed") {
					r.at = p.takeZeroed(r.n)
					for i, c := range p.bytes(r.at, r.n) {
						if c != 0 {
							t.Fatalf("byte %d of zeroed pages is %d", i, c)
						}
					}
				} else {
					r.at = p.take(r.n)
				}
				if r.at == 0 {
					t.Fatal("the ref that means none was handed out")
				}
				b := p.bytes(r.at, r.n)
				b[0], b[len(b)-1] = r.mark, r.mark
				out = append(out, r)
			},
			"give": func(t *rapid.T) {
				if len(out) == 0 {
					return
				}
				i := rapid.IntRange(0, len(out)-1).Draw(t, "which")
				holds(out[i])
				p.give(out[i].at, out[i].n)
				out = slices.Delete(out, i, i+1)
			},
			"trim": func(t *rapid.T) { p.trim(int64(rapid.IntRange(0, 50).Draw(t, "spare"))) },
			"": func(t *rapid.T) {
				for _, r := range out {
					holds(r)
				}
				if err := p.check(); err != nil {
					t.Fatal(err)
				}
				if resident := p.inUse.Load() + p.dirty; resident > p.limit {
					t.Fatalf("%d pages have memory behind them, over the limit of %d", resident, p.limit)
				}
			},
		})
	})
}

// Chunks never overlap and keep their contents, and the lists hold.
func TestSlab(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := newPages(1 << 20)
		defer p.close()
		s := newSlab(p)
		sizes := map[ref]int{}
		fill := func(r ref, n int) {
			for i, b := 0, sliceAt[byte](&s, r, n); i < n; i++ {
				b[i] = byte(r) ^ byte(i)
			}
		}
		t.Repeat(map[string]func(*rapid.T){
			"take": func(t *rapid.T) {
				for range rapid.IntRange(1, 60).Draw(t, "chunks") {
					n := rapid.SampledFrom([]int{1, 16, 17, 200, 217, 512, 513, 4000, 5000, 21_000, 22_000, 70_000}).Draw(t, "size")
					r := s.take(n)
					if _, taken := sizes[r]; taken {
						t.Fatal("a chunk was handed out twice")
					}
					sizes[r] = n
					fill(r, n)
				}
			},
			"give": func(t *rapid.T) {
				refs := slices.Sorted(maps.Keys(sizes))
				for i, every := 0, rapid.IntRange(1, 9).Draw(t, "every"); i < len(refs); i += every {
					s.give(refs[i], sizes[refs[i]])
					delete(sizes, refs[i])
				}
			},
			"": func(t *rapid.T) {
				for r, n := range sizes {
					for i, c := range sliceAt[byte](&s, r, n) {
						if c != byte(r)^byte(i) {
							t.Fatalf("byte %d of a chunk of %d bytes was overwritten", i, n)
						}
					}
				}
				if err := s.check(); err != nil {
					t.Fatal(err)
				}
			},
		})
		for r, n := range sizes {
			s.give(r, n)
		}
		if s.held != 0 || s.taken != 0 || p.inUse.Load() != 0 {
			t.Fatalf("of an empty slab %d bytes are held, %d taken and %d pages in use", s.held, s.taken, p.inUse.Load())
		}
	})
}

func TestClasses(t *testing.T) {
	for n := 1; n <= maxChunk+1; n++ {
		c := classFor(n)
		switch {
		case n > maxChunk:
			if c != ownRun {
				t.Fatalf("%d bytes: class %d", n, c)
			}
		case c.size() < n || c > 0 && int(classSizes[c-1]) >= n:
			t.Fatalf("%d bytes are in a class of %d", n, c.size())
		case n > 64 && c.size()*3 > n*4+48:
			t.Fatalf("%d bytes waste much of %d", n, c.size())
		}
	}
	for c := range classSizes {
		if used := spanHeaderSize + classID(c).perSpan()*classID(c).size(); used > classID(c).pages()<<pageShift || classID(c).perSpan() < 3 {
			t.Errorf("class %d: %d chunks of %d bytes in %d pages", c, classID(c).perSpan(), classID(c).size(), classID(c).pages())
		}
	}
}

// A table holds what a map does, while its segments are split.
func TestTable(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := newPages(1 << 20)
		defer p.close()
		var tab table
		tab.begin(p, rapid.SampledFrom([]uint8{keySlotShift, termShift}).Draw(t, "slot size"))
		mask := rapid.SampledFrom([]uint32{1<<32 - 1, 0xfff00fff, 0xff0000ff, 0xf}).Draw(t, "bits of hashes")
		most := 8_000
		if mask == 0xf {
			most = 300 // with more, no number of segments is enough
		}
		model := map[uint32]uint32{} // value to hash
		next := uint32(1)
		find := func(hash, value uint32) (probe, bool) {
			p := tab.probe(hash)
			for ; p.more(); p.next() {
				if *p.slot() == (slot{hash, value}) {
					return p, true
				}
			}
			return p, false
		}
		t.Repeat(map[string]func(*rapid.T){
			"insert": func(t *rapid.T) {
				hash := rapid.Uint32().Draw(t, "hash")
				for range rapid.IntRange(1, 1500).Draw(t, "how many") {
					if len(model) == most {
						return
					}
					hash = hash*1664525 + 1013904223
					tab.insert(hash & mask).used = next
					model[next] = hash & mask
					next++
				}
			},
			"remove": func(t *rapid.T) {
				every := rapid.Uint32Range(1, 7).Draw(t, "every")
				for _, value := range slices.Sorted(maps.Keys(model)) {
					hash := model[value]
					if value%every != 0 {
						continue
					}
					at, found := find(hash, value)
					if !found {
						t.Fatalf("%d with hash %x is missing", value, hash)
					}
					tab.remove(at)
					delete(model, value)
				}
			},
			"": func(t *rapid.T) {
				for value, hash := range model {
					if _, found := find(hash, value); !found {
						t.Fatalf("%d with hash %x is missing", value, hash)
					}
				}
				if err := tab.check(); err != nil {
					t.Fatal(err)
				}
				if tab.live != len(model) {
					t.Fatalf("%d slots, want %d", tab.live, len(model))
				}
			},
		})
	})
}

// A posting is a sorted set of ids, in whatever form.
func TestPosting(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := newPages(1 << 20)
		defer p.close()
		s := newSlab(p)
		var set posting
		model := map[uint32]bool{}
		stride := rapid.SampledFrom([]uint32{1, 3, 100, 5000}).Draw(t, "stride")
		ids := func(t *rapid.T) (ids []uint32) {
			first := rapid.Uint32Range(0, 40).Draw(t, "first") * stride * 17
			for i := range rapid.Uint32Range(1, 400).Draw(t, "how many") {
				ids = append(ids, (first+i*stride)%mostIDs)
			}
			return ids
		}
		t.Repeat(map[string]func(*rapid.T){
			"add": func(t *rapid.T) {
				for _, id := range ids(t) {
					s.add(&set, id)
					model[id] = true
				}
			},
			"remove": func(t *rapid.T) {
				for _, id := range ids(t) {
					if got := s.remove(&set, id); got != model[id] {
						t.Fatalf("removing %d: it was there: %v, should be %v", id, got, model[id])
					}
					delete(model, id)
				}
			},
			"remove nearly all": func(t *rapid.T) {
				keep := rapid.IntRange(0, 3).Draw(t, "keep")
				for _, id := range slices.Sorted(maps.Keys(model)) {
					if len(model) <= keep {
						break
					}
					s.remove(&set, id)
					delete(model, id)
				}
			},
			"next": func(t *rapid.T) {
				from := rapid.Uint32Range(0, mostIDs).Draw(t, "from")
				all := slices.Sorted(maps.Keys(model))
				i, _ := slices.BinarySearch(all, from)
				got, ok := s.next(&set, from)
				if ok != (i < len(all)) || ok && got != all[i] {
					t.Fatalf("behind %d comes %d (%v)", from, got, ok)
				}
			},
			"": func(t *rapid.T) {
				if got, want := s.all(&set), slices.Sorted(maps.Keys(model)); !slices.Equal(got, want) || set.len() != len(want) {
					t.Fatalf("it has %d ids %v, want %v", set.len(), got, want)
				}
				if err := s.check(); err != nil {
					t.Fatal(err)
				}
			},
		})
		for id := range model {
			s.remove(&set, id)
		}
		if set != (posting{}) || s.held != 0 {
			t.Fatalf("an empty posting is %+v and holds %d bytes", set, s.held)
		}
	})
}

func TestKeyHashes(t *testing.T) {
	h, other := newHasher(), newHasher()
	seen := map[[2]uint32]string{}
	for _, key := range [][2][]byte{{nil, nil}, {{}, nil}, {nil, {}}, {{}, {}}, {[]byte("a"), nil}, {nil, []byte("a")}, {[]byte("a"), []byte("b")}, {[]byte("b"), []byte("a")}} {
		name := fmt.Sprintf("%q %v %q %v", key[0], key[0] == nil, key[1], key[1] == nil)
		k := h.key(key[0], key[1])
		if k != h.key(key[0], key[1]) {
			t.Errorf("%s: it has two hashes", name)
		}
		if before, ok := seen[[2]uint32{k.shard, k.slot}]; ok {
			t.Errorf("%s and %s have the same hash", name, before)
		}
		seen[[2]uint32{k.shard, k.slot}] = name
		if o := other.key(key[0], key[1]); o.shard == k.shard && o.slot == k.slot {
			t.Errorf("%s: it has the same hash in another index", name)
		}
	}
}
