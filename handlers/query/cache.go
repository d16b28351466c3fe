package query

import (
	"sync"
	"unsafe"

	"github.com/hashicorp/golang-lru/v2/simplelru"
)

// Cache keeps queries by their text, those that were asked for last. It is
// bounded in number and in bytes. Texts that are no queries are not kept: they
// would push out those that are. Any goroutine may use it at any time.
type Cache struct {
	mu    sync.Mutex
	kept  *simplelru.LRU[string, *Query]
	stats CacheStats
}

// CacheStats are a Cache's counters since its start, its gauges and their limits.
type CacheStats struct {
	Hits      uint64 // queries found
	Misses    uint64 // queries that had to be compiled, the refused ones included
	Refused   uint64 // texts that are no queries
	Evictions uint64 // queries given up for others
	TooLarge  uint64 // queries that alone are over the limit in bytes, compiled each time

	Entries, MaxEntries int
	Bytes, MaxBytes     int64 // of the queries' Size
}

// NewCache returns a cache for at most that many queries of together at most so
// many bytes. If one of them is not above 0, nothing is kept.
func NewCache(entries int, bytes int64) *Cache {
	c := &Cache{stats: CacheStats{MaxEntries: min(max(entries, 0), 1<<30), MaxBytes: max(bytes, 0)}}
	// One more than the limit: what is over it is given up here, not within.
	kept, err := simplelru.NewLRU(c.stats.MaxEntries+1, func(_ string, q *Query) {
		c.stats.Bytes -= int64(q.Size())
	})
	if err != nil {
		panic("BUG: " + err.Error()) // it minds sizes below 1 only
	}
	c.kept = kept
	return c
}

// Get returns the query of that text, compiling it if it is not kept. An error
// is an *Error. It keeps nothing of text, and allocates nothing if the query is
// kept.
func (c *Cache) Get(text []byte) (*Query, error) {
	if q, ok := c.find(text); ok {
		return q, nil
	}
	q, err := Compile(string(text))
	c.mu.Lock()
	defer c.mu.Unlock()
	c.stats.Misses++
	if err != nil {
		c.stats.Refused++
		return nil, err
	}
	c.keep(string(text), q)
	return q, nil
}

func (c *Cache) find(text []byte) (*Query, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	// The string shares text's bytes and is gone before anybody can change them.
	q, ok := c.kept.Get(unsafe.String(unsafe.SliceData(text), len(text)))
	if ok {
		c.stats.Hits++
	}
	return q, ok
}

// keep adds q and gives up the oldest until the limits hold. Another goroutine
// may have compiled the same text meanwhile: the later one stays.
func (c *Cache) keep(text string, q *Query) {
	size := int64(q.Size())
	if size > c.stats.MaxBytes || c.stats.MaxEntries == 0 {
		c.stats.TooLarge++
		return
	}
	c.kept.Remove(text)
	c.kept.Add(text, q)
	for c.stats.Bytes += size; c.stats.Bytes > c.stats.MaxBytes || c.kept.Len() > c.stats.MaxEntries; {
		c.kept.RemoveOldest()
		c.stats.Evictions++
	}
}

// Stats returns the counters and gauges of this moment.
func (c *Cache) Stats() CacheStats {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.stats
	s.Entries = c.kept.Len()
	return s
}
