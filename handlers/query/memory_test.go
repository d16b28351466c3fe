//go:build !race

package query

import (
	"runtime"
	"strings"
	"testing"
)

// The race detector takes memory of its own and empties pools at random, so what
// counts memory runs without it.

func TestMatchAllocatesNothing(t *testing.T) {
	e := stored(t, typicalEvent(), 60)
	for _, text := range []string{
		`state = "critical" and service =~ "disk%"`, `service ~= "^disk[0-9]+$"`, `tagged "production"`,
		`region = "eu-central" and region != datacenter`, `metric > 0.4 and ttl <= 60 and time > 1e9`,
		`host = service or metric = ttl or tags = host`, `not description =~ "%used%free%"`, `metric = 1N or time < 1`,
		`metric < 99999999999999999999N`, `region ~= "x" or nosuch`,
	} {
		q, err := Compile(text)
		if err != nil {
			t.Fatal(err)
		}
		if n := testing.AllocsPerRun(100, func() { q.Match(e) }); n >= 1 {
			t.Errorf("%s: %v allocations", text, n)
		}
	}
}

func TestCacheHitAllocatesNothing(t *testing.T) {
	c := NewCache(10, 1<<20)
	text := []byte(`state = "critical" and service =~ "disk%"`)
	get := func() {
		if _, err := c.Get(text); err != nil {
			t.Fatal(err)
		}
	}
	get()
	if n := testing.AllocsPerRun(100, get); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// TestSizeIsTrue compares Size with the memory that queries really take.
func TestSizeIsTrue(t *testing.T) {
	for _, text := range []string{
		`a`, `host = "a"`, `host = "a" and service = "b"`,
		"a = 1" + strings.Repeat(` or host = "hhhhhhhhhhhhhhhhhhhhhhhh"`, 500),
		strings.Repeat("not (", 400) + "a" + strings.Repeat(")", 400),
		`a =~ "` + strings.Repeat("x%", 5000) + `"`,
		`a ~= "` + strings.Repeat("a", 5000) + `"`,
		`a ~= "` + strings.Repeat("(a|b)", 1000) + `"`,
		`a ~= "(a[^b]){400}$"`,
		`a ~= "` + strings.Repeat(`\\p{L}`, 70) + `"`,
		strings.Repeat(`a ~= "x" or `, 300) + "b",
	} {
		q, err := Compile(text)
		if err != nil {
			t.Fatal(err)
		}
		took := memoryOf(t, text)
		t.Logf("%7d bytes, Size %7d: %.40s", took, q.Size(), text)
		if took > int64(q.Size())*5/4 {
			t.Errorf("%.40s takes %d bytes, its Size is %d", text, took, q.Size())
		}
	}
}

// memoryOf is what a compiled query keeps, in bytes.
func memoryOf(t *testing.T, text string) int64 {
	t.Helper()
	const copies = 20
	kept := make([]*Query, copies)
	var before, after runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&before)
	for i := range kept {
		q, err := Compile(strings.Clone(text))
		if err != nil {
			t.Fatal(err)
		}
		kept[i] = q
	}
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&after)
	runtime.KeepAlive(kept)
	return (int64(after.HeapAlloc) - int64(before.HeapAlloc)) / copies
}
