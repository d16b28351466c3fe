package web

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// However many scrape, the numbers are gathered by one at a time.
func TestScrapesTakeTurns(t *testing.T) {
	api := testAPI()
	var running, most atomic.Int64
	api.Numbers = NewNumbers(func() []Number {
		defer running.Add(-1)
		if n := running.Add(1); n > most.Load() {
			most.Store(n)
		}
		time.Sleep(time.Millisecond) // for others to come in
		return []Number{{Name: "reads", Help: "Calls of read.", Value: 1}}
	})
	h := testHTTP(api.Handler())
	var scrapers sync.WaitGroup
	for range 8 {
		l := newLine(t, h)
		scrapers.Go(func() {
			for range 5 {
				if resp, body := l.get(asked("/metrics")); resp.StatusCode != 200 || len(body) < 1000 {
					t.Errorf("status %d, %d bytes", resp.StatusCode, len(body))
				}
			}
		})
	}
	scrapers.Wait()
	if n := most.Load(); n != 1 {
		t.Errorf("the numbers were gathered %d times at once", n)
	}
}

// Numbers that can't be gathered are an error, and the next scrape may find them.
func TestScrapesMayFail(t *testing.T) {
	api := testAPI()
	same := 1
	api.Numbers = NewNumbers(func() []Number {
		var all []Number
		for range same {
			all = append(all, Number{Name: "reads", Help: "Calls of read."})
		}
		return all
	})
	l := newLine(t, testHTTP(api.Handler()))
	for n, status := range map[int]int{2: 500, 1: 200} {
		same = n
		if resp, body := l.get(asked("/metrics")); resp.StatusCode != status {
			t.Errorf("the same number %d times: status %d, %.100q; want %d", n, resp.StatusCode, body, status)
		}
	}
}
