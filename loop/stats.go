package loop

import (
	"sync/atomic"

	"darboux/frame"
)

// stat names a counter or gauge of a loop.
type stat int

const (
	accepted stat = iota
	acceptFailed
	acceptRefused
	conns
	sockets
	reads
	readsPaused
	bytesRead
	writes
	bytesWritten
	framesCut
	framesRefused
	framesDropped
	burstsPushed
	burstsBack
	burstsBrief
	burstsOut
	burstsGone
	pausedOwn
	pausedMemory
	pausedWindow
	waitingCredit
	waitingMemory
	waitingTurn
	datagramsReceived
	datagramsTruncated
	datagramsDropped
	memoryHeld
	buffersFree
	closedFirst // the reasons for closing follow, in their order
	stats       = closedFirst + stat(closeReasons)
)

var statNames = [closedFirst]struct {
	name  string
	gauge bool
}{
	accepted:           {"connections accepted", false},
	acceptFailed:       {"accept failures", false},
	acceptRefused:      {"connections refused at the limit", false},
	conns:              {"connections", true},
	sockets:            {"udp sockets", true},
	reads:              {"reads", false},
	readsPaused:        {"reads while paused", false},
	bytesRead:          {"bytes read", false},
	writes:             {"writes", false},
	bytesWritten:       {"bytes written", false},
	framesCut:          {"frames received", false},
	framesRefused:      {"frames refused by length", false},
	framesDropped:      {"frames incomplete at the end of the stream", false},
	burstsPushed:       {"bursts pushed", false},
	burstsBack:         {"bursts given back", false},
	burstsBrief:        {"bursts worked by loops", false},
	burstsOut:          {"bursts out", true},
	burstsGone:         {"bursts of closed connections", false},
	pausedOwn:          {"pauses by connection memory", false},
	pausedMemory:       {"pauses by memory", false},
	pausedWindow:       {"pauses by window", false},
	waitingCredit:      {"connections waiting for a credit", true},
	waitingMemory:      {"connections waiting for memory", true},
	waitingTurn:        {"connections waiting for a turn", true},
	datagramsReceived:  {"datagrams received", false},
	datagramsTruncated: {"datagrams truncated", false},
	datagramsDropped:   {"datagrams dropped by the kernel", false},
	memoryHeld:         {"memory held bytes", true},
	buffersFree:        {"free buffer bytes", true},
}

// tally is the counters and gauges of a loop: its goroutine writes them, any may
// read them.
type tally [stats]atomic.Int64

func (t *tally) add(s stat, n int) { t[s].Add(int64(n)) }

func (t *tally) get(s stat) int { return int(t[s].Load()) }

// Stats returns the counters and gauges of all loops together, always the same
// ones in the same order. Any goroutine may call it.
func (g *Group) Stats() []frame.Stat {
	out := make([]frame.Stat, stats)
	for s := range out {
		out[s].Name, out[s].Gauge = describe(stat(s))
		for _, l := range g.loops {
			out[s].Value += l.tally[s].Load()
		}
	}
	return out
}

func describe(s stat) (name string, gauge bool) {
	if s >= closedFirst {
		return "connections closed: " + closeReason(s-closedFirst).String(), false
	}
	return statNames[s].name, statNames[s].gauge
}
