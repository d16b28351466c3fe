package loop

import (
	"errors"

	"golang.org/x/sys/unix"
)

// openLoop makes a loop with its poller, its bell and its ticker.
func openLoop(cfg *Config, s *shared) (*Loop, error) {
	p, err := openEpoll()
	if err != nil {
		return nil, err
	}
	b, err := newBell()
	if err != nil {
		return nil, errors.Join(err, p.Close())
	}
	ticker, err := newTicker()
	if err != nil {
		return nil, errors.Join(err, b.close(), p.Close())
	}
	l := newLoop(cfg, s, linux{}, p, b)
	l.ticker = ticker
	for _, fd := range []int{b.fd, ticker} {
		if err := p.Change(fd, absent, read); err != nil {
			return nil, errors.Join(err, l.free())
		}
	}
	return l, nil
}

// free closes the loop's own descriptors.
func (l *Loop) free() error {
	return errors.Join(unix.Close(l.ticker), l.bell.close(), l.poller.Close())
}
