package loop

import (
	"testing"
	"time"
)

// moves is what a peer moves: so many bytes in the beginning, and so many each time after
// so long.
type moves struct {
	first, bytes int
	every        time.Duration
}

func TestPace(t *testing.T) {
	const window = 10 * time.Second
	for _, tc := range []struct {
		name string
		moves
		lateAt time.Duration // 0: never, within ten minutes
	}{
		{"nothing moves", moves{0, 0, time.Second}, window},
		{"a little faster than the least rate", moves{0, 4200, time.Second}, 0},
		{"half the least rate", moves{0, 2048, time.Second}, 2 * window},
		{"in lumps that come within the window", moves{0, 64 << 10, 9 * time.Second}, 0},
		{"in lumps that come too late", moves{0, 64 << 10, 11 * time.Second}, window},
		{"much at once, as a large buffer takes it, then lumps that are far apart", moves{7 << 20, 95 << 10, 45 * time.Second}, 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			start := time.Unix(1e9, 0)
			var p pace
			p.reset(start, window)
			p.moved = tc.first
			next := tc.every
			for after := tickEvery; after < 10*time.Minute; after += tickEvery {
				for ; next <= after; next += tc.every {
					p.moved += tc.bytes
				}
				if p.late(start.Add(after), window, ofReader) {
					if tc.lateAt == 0 || after < tc.lateAt-time.Second || after > tc.lateAt+2*time.Second {
						t.Errorf("late after %v; want %v", after, tc.lateAt)
					}
					return
				}
			}
			if tc.lateAt != 0 {
				t.Errorf("never late; want it after %v", tc.lateAt)
			}
		})
	}
}

func TestPaceAheadIsBounded(t *testing.T) {
	const window, ahead = 10 * time.Second, 3
	of := demand{LeastRate, ahead}
	start := time.Unix(1e9, 0)
	var p pace
	p.reset(start, window)
	p.moved = 1 << 30
	if p.late(start, window, of) || p.late(start.Add(ahead*window), window, of) {
		t.Error("late within what it may be ahead")
	}
	if !p.late(start.Add(ahead*window+time.Second), window, of) {
		t.Error("a gigabyte in the beginning is good for ever")
	}
}
