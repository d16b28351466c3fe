package main

import (
	"testing"
	"testing/synctest"
	"time"

	"darboux/handlers/index"
)

// slowStore is a store of which each search takes so long.
type slowStore struct {
	index.Store
	takes time.Duration
}

func (s slowStore) Search(index.Matcher, *index.Cursor, []byte, int) []byte {
	time.Sleep(s.takes)
	return nil
}

// Whoever searches a paced store works for a fifth of the time, and never rests for long.
func TestPaced(t *testing.T) {
	for _, r := range []struct {
		takes    time.Duration
		searches int
		want     time.Duration // all in all
	}{
		{time.Millisecond, 1, time.Millisecond},
		{time.Millisecond, 101, 101*time.Millisecond + 100*4*time.Millisecond},
		{100 * time.Microsecond, 101, 10100*time.Microsecond + 10*4*time.Millisecond},
		{time.Second, 2, 2*time.Second + mostRest},
	} {
		synctest.Test(t, func(t *testing.T) {
			p := &paced{Store: slowStore{takes: r.takes}}
			begin := time.Now()
			for range r.searches {
				p.Search(nil, nil, nil, 0)
			}
			if took := time.Since(begin); took != r.want {
				t.Errorf("%d searches of %v took %v, want %v", r.searches, r.takes, took, r.want)
			}
		})
	}
}
