package loop

import "time"

// pace measures whether a peer keeps up a least rate. It does not judge a total, so a long
// transfer may take as long as it needs: what moves puts off when the peer is late, by the
// time that it may take at the least rate.
type pace struct {
	due   time.Time
	moved int // bytes since due was put off last
}

// surplus is how many windows a peer can be ahead, because what is moved comes in lumps: a
// receiver tells of its room only when there is much of it.
const surplus = 4

// reset gives the peer a whole window.
func (p *pace) reset(now time.Time, window time.Duration) { *p = pace{due: now.Add(window)} }

// late reports whether too little was moved; a window of 0 is no limit.
func (p *pace) late(now time.Time, window time.Duration) bool {
	if window == 0 {
		return false
	}
	p.due = p.due.Add(time.Duration(float64(p.moved) / LeastRate * float64(time.Second)))
	p.moved = 0
	if most := now.Add(surplus * window); p.due.After(most) {
		p.due = most
	}
	return now.After(p.due)
}
