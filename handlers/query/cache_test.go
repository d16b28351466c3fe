package query

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
)

func TestCacheKeepsWhatIsAsked(t *testing.T) {
	c := NewCache(2, 1<<20)
	get := func(text string) *Query {
		t.Helper()
		q, err := c.Get([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		return q
	}
	a := get("a")
	get("b")
	if get("a") != a {
		t.Error("a was compiled again")
	}
	get("c") // pushes out b, which is the longest unused
	if get("a") != a {
		t.Error("a was given up, b should have been")
	}
	get("b")
	s := c.Stats()
	if s.Hits != 2 || s.Misses != 4 || s.Evictions != 2 || s.Entries != 2 || s.MaxEntries != 2 || s.MaxBytes != 1<<20 {
		t.Errorf("%+v", s)
	}
	if want := int64(get("a").Size() + get("b").Size()); c.Stats().Bytes != want {
		t.Errorf("%d bytes, the two have %d", c.Stats().Bytes, want)
	}
}

func TestCacheIsBoundedInBytes(t *testing.T) {
	one, err := Compile("a000")
	if err != nil {
		t.Fatal(err)
	}
	limit := int64(10*one.Size() + one.Size()/2)
	c := NewCache(1000, limit)
	for i := range 500 {
		if _, err := c.Get(fmt.Appendf(nil, "a%03d", i)); err != nil {
			t.Fatal(err)
		}
		if s := c.Stats(); s.Bytes > limit || s.Bytes != int64(s.Entries*one.Size()) {
			t.Fatalf("%+v", s)
		}
	}
	if s := c.Stats(); s.Entries != 10 || s.Evictions != 490 {
		t.Errorf("%+v", s)
	}
	large := []byte("a" + strings.Repeat(" or a", 100))
	for range 2 {
		if _, err := c.Get(large); err != nil {
			t.Fatal(err)
		}
	}
	if s := c.Stats(); s.TooLarge != 2 || s.Entries != 10 {
		t.Errorf("a query over the limit: %+v", s)
	}
}

func TestCacheKeepsNoErrors(t *testing.T) {
	c := NewCache(10, 1<<20)
	for range 2 {
		var e *Error
		if _, err := c.Get([]byte("a =")); !errors.As(err, &e) {
			t.Fatal(err)
		}
	}
	if s := c.Stats(); s.Refused != 2 || s.Misses != 2 || s.Entries != 0 || s.Bytes != 0 {
		t.Errorf("%+v", s)
	}
}

func TestCacheOfNothing(t *testing.T) {
	for _, c := range []*Cache{NewCache(0, 1<<20), NewCache(10, 0), NewCache(-1, -1)} {
		for range 2 {
			if _, err := c.Get([]byte("a")); err != nil {
				t.Fatal(err)
			}
		}
		if s := c.Stats(); s.Entries != 0 || s.Bytes != 0 || s.Misses != 2 {
			t.Errorf("%+v", s)
		}
	}
}

func TestCacheKeepsNothingOfTheText(t *testing.T) {
	c := NewCache(10, 1<<20)
	text := []byte(`host = "a"`)
	q, err := c.Get(text)
	if err != nil {
		t.Fatal(err)
	}
	copy(text, `metric > 1`)
	if q.String() != `host = "a"` {
		t.Errorf("the query became %s", q)
	}
	if other, err := c.Get(text); err != nil || other == q {
		t.Errorf("%v, %v", other, err)
	}
	if again, err := c.Get([]byte(`host = "a"`)); err != nil || again != q {
		t.Errorf("%v, %v", again, err)
	}
}

// TestCacheByMany lets goroutines ask for more queries than there is room for.
func TestCacheByMany(t *testing.T) {
	const goroutines, rounds, texts = 8, 2000, 40
	c := NewCache(20, 1<<20)
	var wg sync.WaitGroup
	for g := range goroutines {
		wg.Go(func() {
			for i := range rounds {
				want := fmt.Sprintf("metric > %d", (g+i*7)%texts)
				if q, err := c.Get([]byte(want)); err != nil || q.String() != want {
					t.Errorf("%s: %v, %v", want, q, err)
					return
				}
			}
		})
	}
	wg.Wait()
	s := c.Stats()
	if s.Hits+s.Misses != goroutines*rounds || s.Entries > 20 || s.Hits == 0 || s.Evictions == 0 {
		t.Errorf("%+v", s)
	}
}
