package loop

import (
	"fmt"
	"sync"

	"darboux/frame"
)

// shared is what all loops count together. Its mutex is taken when a connection
// comes or goes, never for a request.
type shared struct {
	reserve *frame.Reserve

	mu        sync.Mutex
	conns     int
	addresses map[string]int // connections by address; nil unless they are limited
}

func newShared(cfg *Config) *shared {
	s := &shared{reserve: frame.NewReserve(cfg.reserve())}
	if cfg.MaxConnsPerAddress.Value > 0 {
		s.addresses = make(map[string]int)
	}
	return s
}

// enter counts a connection in; otherwise it says which limit is reached.
func (s *shared) enter(address string, cfg *Config) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.conns >= cfg.MaxConns.Value {
		return fmt.Sprintf("the limit of %d connections is reached (%s)", cfg.MaxConns.Value, cfg.MaxConns.Flag)
	}
	if s.addresses != nil {
		if s.addresses[address] >= cfg.MaxConnsPerAddress.Value {
			return fmt.Sprintf("the limit of %d connections from one address is reached (%s)", cfg.MaxConnsPerAddress.Value, cfg.MaxConnsPerAddress.Flag)
		}
		s.addresses[address]++
	}
	s.conns++
	return ""
}

// atMost reports whether the limit of all connections is reached.
func (s *shared) atMost(cfg *Config) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.conns >= cfg.MaxConns.Value
}

// leave counts a connection out.
func (s *shared) leave(address string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.conns--
	if s.addresses == nil {
		return
	}
	if s.addresses[address]--; s.addresses[address] == 0 {
		delete(s.addresses, address)
	}
}
