package main

import (
	"time"

	"darboux/loadtest/proc"
	"darboux/loadtest/result"
)

// costs follows what client and server use.
type costs struct {
	pid        int  // of the server; 0: not known
	known      bool // the server's process could be read at both edges
	begin, end edge
	lastSelf   time.Duration // CPU at the last second
	lastServer time.Duration
	hasServer  bool // lastServer is known
}

// edge is how things stood when the measured window began or ended.
type edge struct {
	self   proc.Self
	busy   proc.Busy
	server proc.Usage
	at     time.Time
}

func newCosts(pid int) *costs {
	c := &costs{pid: pid, known: pid > 0}
	c.lastSelf = proc.Now().CPU
	if usage, ok := c.server(); ok {
		c.lastServer, c.hasServer = usage.CPU, true
	}
	return c
}

// server reads the server's usage; a process that has ended has none.
func (c *costs) server() (proc.Usage, bool) {
	if c.pid == 0 {
		return proc.Usage{}, false
	}
	usage, err := proc.Of(c.pid)
	return usage, err == nil && usage.RSS > 0
}

// edge is called at the window's edges.
func (c *costs) edge(begins bool) {
	usage, ok := c.server()
	c.known = c.known && ok
	e := edge{proc.Now(), proc.MachineBusy(), usage, time.Now()}
	if begins {
		c.begin = e
	} else {
		c.end = e
	}
}

// second fills in what was used in an interval.
func (c *costs) second(s *result.Second) {
	if s.Length <= 0 {
		return
	}
	self := proc.Now().CPU
	s.ClientCPU = (self - c.lastSelf).Seconds() / s.Length
	c.lastSelf = self
	usage, ok := c.server()
	if ok && c.hasServer {
		cores := (usage.CPU - c.lastServer).Seconds() / s.Length
		s.ServerCPU, s.ServerRSS = &cores, usage.RSS
	}
	c.lastServer, c.hasServer = usage.CPU, ok
}
