package loop

import "time"

// pace measures whether a peer keeps up a least rate. It does not judge a total, so a long
// transfer may take as long as it needs: what moves puts off when the peer is late, by the
// time that it may take at the least rate.
type pace struct {
	due   time.Time
	moved int // bytes since due was put off last
}

// demand is what is asked of a peer: a least rate in bytes a second, and how many windows it
// can be ahead of it.
type demand struct{ rate, ahead int }

var (
	// ofSender is for who sends: it would hold the room of a begun frame meanwhile.
	ofSender = demand{LeastRate, 4}
	// ofReader is for who reads. A receiver's kernel may take many megabytes at once
	// and then tells of room only when there is much of it: Linux, when a 16th of its
	// buffer is free, which at the least rate and with the usual 6 MiB takes 96 s.
	ofReader = demand{LeastRate, 30}
	// ofHolder is for who holds room of the reserve for which others wait.
	ofHolder = demand{HolderRate, 1}
)

// reset gives the peer a whole window.
func (p *pace) reset(now time.Time, window time.Duration) { *p = pace{due: now.Add(window)} }

// rest lets the peer's time stand still for a while.
func (p *pace) rest(d time.Duration) { p.due = p.due.Add(d) }

// late reports whether too little was moved; a window of 0 is no limit.
func (p *pace) late(now time.Time, window time.Duration, of demand) bool {
	if window == 0 {
		return false
	}
	p.due = p.due.Add(time.Duration(float64(p.moved) / float64(of.rate) * float64(time.Second)))
	p.moved = 0
	if most := now.Add(time.Duration(of.ahead) * window); p.due.After(most) {
		p.due = most
	}
	return now.After(p.due)
}
