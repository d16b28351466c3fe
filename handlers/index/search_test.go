package index

import (
	"bytes"
	"fmt"
	"strings"
	"sync"
	"testing"

	"darboux/handlers/riemann"
)

// While keys are inserted by thousands, moved by growing, deleted and inserted
// anew, a search in slices finds each key at most once, and each that is there
// all the while.
func TestSearchWhileAllChanges(t *testing.T) {
	for name, s := range map[string]Store{
		"map":   NewMap(Config{Shards: 2, DefaultTTL: 60}),
		"index": newIndex(t, Config{Shards: 2, DefaultTTL: 60}),
	} {
		t.Run(name, func(t *testing.T) { searchWhileAllChanges(t, s) })
	}
}

func searchWhileAllChanges(t *testing.T, s Store) {
	const stay, come = 700, 3000
	for i := range stay {
		apply(t, s, riemann.Record{Host: fmt.Sprint("stays-", i)})
	}
	stop := make(chan struct{})
	var others sync.WaitGroup
	for g := range 2 {
		others.Go(func() {
			for i := 0; ; i++ {
				select {
				case <-stop:
					return
				default:
				}
				apply(t, s, riemann.Record{Host: fmt.Sprint("stays-", i%stay), Description: strings.Repeat("d", i*31%2000)})
				state := []string{"ok", "expired"}[i/come%2]
				apply(t, s, riemann.Record{Host: fmt.Sprintf("comes-%d-%d", g, i%come), State: state})
				apply(t, s, riemann.Record{Host: fmt.Sprintf("flickers-%d-%d", g, i%50), State: "ok"})
				apply(t, s, riemann.Record{Host: fmt.Sprintf("flickers-%d-%d", g, (i+25)%50), State: "expired"})
			}
		})
	}
	for range 30 {
		found := map[string]int{}
		stays := 0
		for cur := (Cursor{Slice: 37}); !cur.Done; {
			for _, field := range fieldsOf(s.Search(matchAll{}, &cur, nil, 1000)) {
				host := viewed(t, wire(field))[0].HostBytes()
				if found[string(host)]++; found[string(host)] == 2 {
					t.Errorf("%s was found twice", host)
				}
				if bytes.HasPrefix(host, []byte("stays-")) {
					stays++
				}
			}
		}
		if stays != stay {
			t.Errorf("%d of %d keys were found", stays, stay)
		}
	}
	close(stop)
	others.Wait()
}

// A search keeps to its slice and its limit, and says how far it came.
func TestSearchInSlices(t *testing.T) {
	for name, s := range map[string]Store{"map": NewMap(Config{}), "index": newIndex(t, Config{})} {
		const entries = 1000
		for i := range entries {
			apply(t, s, riemann.Record{Host: fmt.Sprint("h", i), State: []string{"ok", "critical"}[i%2]})
		}
		critical := matchFunc(func(e *riemann.Event) bool { return string(e.StateBytes()) == "critical" })
		cur := Cursor{Slice: 10}
		for calls := 1; !cur.Done; calls++ {
			before := cur.Looked
			s.Search(critical, &cur, nil, 0)
			if n := cur.Looked - before; n > 10 {
				t.Fatalf("%s: %d entries were looked at in a slice of 10", name, n)
			}
		}
		if cur.Looked != entries || cur.Matched != entries/2 {
			t.Errorf("%s: looked at %d, matched %d", name, cur.Looked, cur.Matched)
		}
		cur = Cursor{}
		for matched := 0; !cur.Done; matched++ {
			if dst := s.Search(critical, &cur, []byte("before"), 7); cur.Matched > matched+1 || !bytes.HasPrefix(dst, []byte("before")) {
				t.Fatalf("%s: %d matches beyond the limit", name, cur.Matched-matched)
			}
		}
	}
}

// A query that panics leaves the store usable.
func TestSearchPanics(t *testing.T) {
	for name, s := range map[string]Store{"map": NewMap(Config{Shards: 1}), "index": newIndex(t, Config{Shards: 1})} {
		apply(t, s, riemann.Record{Host: "h"})
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: the panic was lost", name)
				}
			}()
			s.Search(matchFunc(func(*riemann.Event) bool { panic("as asked") }), &Cursor{}, nil, 0)
		}()
		apply(t, s, riemann.Record{Host: "h"})
	}
}

// When births begin anew, entries are found as before.
func TestBirthsBeginAnew(t *testing.T) {
	x := newIndex(t, Config{Shards: 1})
	x.shards[0].births = maxBorn - 2
	for i := range 10 {
		apply(t, x, riemann.Record{Host: fmt.Sprint("h", i)})
		if n := len(contents(x, matchAll{}, 1, 0)); n != i+1 {
			t.Errorf("%d of %d entries were found", n, i+1)
		}
		x.mustHold(t)
	}
	if births := x.shards[0].births; births == 0 || births > 10 {
		t.Errorf("births are %d", births)
	}
}

// weigher counts the bytes of the entries that it is shown, and finds none.
type weigher struct{ entries, bytes int }

func (w *weigher) Match(e *riemann.Event) bool {
	w.entries++
	w.bytes += len(e.Raw)
	return false
}

// One call of a search looks at so many entries only if they are of the usual size: who
// copies what it is shown needs little memory, however large entries are.
func TestASliceOfLargeEntriesIsShort(t *testing.T) {
	const entries, size, slice = 40, 100_000, 128
	x := newIndex(t, Config{Shards: 2, DefaultTTL: 60})
	for i := range entries {
		apply(t, x, riemann.Record{Host: fmt.Sprint(i), Description: strings.Repeat("d", size)})
	}
	var all weigher
	for cur := (Cursor{Slice: slice}); !cur.Done; {
		before := all.bytes
		x.Search(&all, &cur, nil, 0)
		if n, most := all.bytes-before, slice*usualSize+2*size; n > most {
			t.Fatalf("%d bytes of entries in one slice; want at most %d", n, most)
		}
	}
	if all.entries != entries {
		t.Errorf("%d entries were looked at; want %d", all.entries, entries)
	}
}
