package main

import (
	"time"

	"darboux/handlers/index"
)

const (
	// A snapshot of an index in use works for a run, then rests restFactor times as
	// long: it takes about a fifth of a core from those who serve.
	paceRun    = time.Millisecond
	restFactor = 4
	mostRest   = 20 * time.Millisecond
)

// paced is a store whose searcher rests in between, for the sake of others. It is used
// by one goroutine.
type paced struct {
	index.Store
	began time.Time // of the run at hand
}

// Search implements index.Store. It rests before it searches, if the run is over.
func (p *paced) Search(q index.Matcher, cur *index.Cursor, dst []byte, limit int) []byte {
	if ran := time.Since(p.began); ran >= paceRun {
		if !p.began.IsZero() {
			time.Sleep(min(restFactor*ran, mostRest))
		}
		p.began = time.Now()
	}
	return p.Store.Search(q, cur, dst, limit)
}
