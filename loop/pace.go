package loop

import "time"

// pace measures whether a peer keeps up a least rate. It judges windows of time,
// not a total, so a long transfer may take as long as it needs.
type pace struct {
	since time.Time
	bytes int
}

// reset begins a new window.
func (p *pace) reset(now time.Time) { *p = pace{since: now} }

// tooSlow reports whether the window is over and too little came in it; a window
// that is over is followed by a new one.
func (p *pace) tooSlow(now time.Time, window time.Duration) bool {
	if window == 0 || now.Sub(p.since) < window {
		return false
	}
	slow := float64(p.bytes) < LeastRate*window.Seconds()
	p.reset(now)
	return slow
}
