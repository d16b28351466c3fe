package loop

import (
	"container/list"
	"fmt"
	"sync"

	"darboux/frame"
)

// shared is what all loops count together. Its mutex is taken when a connection
// comes or goes and when its first frame has come, never for another request.
type shared struct {
	reserve *frame.Reserve

	mu        sync.Mutex
	conns     int
	addresses map[string]int // connections by address; nil unless they are limited
	silent    list.List      // the connections that never sent a frame, in the order of their coming
}

// presence is how a connection is counted among those of all loops. The mutex of shared
// guards it.
type presence struct {
	counted bool
	silent  *list.Element
}

func newShared(cfg *Config) *shared {
	s := &shared{reserve: frame.NewReserve(cfg.reserve())}
	if cfg.MaxConnsPerAddress.Value > 0 {
		s.addresses = make(map[string]int)
	}
	return s
}

// enter counts a connection in; otherwise it says which limit is reached. At the limit of
// all connections the one makes room that is here longest and never sent a frame: it is
// counted out and returned, for the caller to have it closed.
func (s *shared) enter(c *Conn, cfg *Config) (out *Conn, why string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.addresses != nil && s.addresses[c.address] >= cfg.MaxConnsPerAddress.Value {
		return nil, fmt.Sprintf("the limit of %d connections from one address is reached (%s)", cfg.MaxConnsPerAddress.Value, cfg.MaxConnsPerAddress.Flag)
	}
	if s.conns >= cfg.MaxConns.Value {
		oldest := s.silent.Front()
		if oldest == nil {
			return nil, fmt.Sprintf("the limit of %d connections is reached (%s)", cfg.MaxConns.Value, cfg.MaxConns.Flag)
		}
		out = oldest.Value.(*Conn)
		s.drop(out)
	}
	if s.addresses != nil {
		s.addresses[c.address]++
	}
	s.conns++
	c.presence = presence{counted: true, silent: s.silent.PushBack(c)}
	return out, ""
}

// tellLeaving notes for a connection's loop that it is to be closed, because it made room.
func (s *shared) tellLeaving(c *Conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c.loop.leaving = append(c.loop.leaving, c)
}

// takeLeaving takes what a loop was told.
func (s *shared) takeLeaving(l *Loop) []*Conn {
	s.mu.Lock()
	defer s.mu.Unlock()
	leaving := l.leaving
	l.leaving = nil
	return leaving
}

// spoke notes that a connection has sent its first frame.
func (s *shared) spoke(c *Conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.dropSilent(c)
}

// leave counts a connection out, unless it was when it made room.
func (s *shared) leave(c *Conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if c.presence.counted {
		s.drop(c)
	}
}

// drop counts a connection out. The caller holds the mutex.
func (s *shared) drop(c *Conn) {
	s.dropSilent(c)
	c.presence.counted = false
	s.conns--
	if s.addresses == nil {
		return
	}
	if s.addresses[c.address]--; s.addresses[c.address] == 0 {
		delete(s.addresses, c.address)
	}
}

func (s *shared) dropSilent(c *Conn) {
	if c.presence.silent != nil {
		s.silent.Remove(c.presence.silent)
		c.presence.silent = nil
	}
}
