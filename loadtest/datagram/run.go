package datagram

import (
	"context"
	"errors"
	"time"

	"darboux/frame"
	"darboux/loadtest/pace"
	"darboux/loadtest/workload"
)

// Config is what is sent where.
type Config struct {
	Address  string
	Workload *workload.Workload
	Sockets  int // that datagrams are sent from in turns, at least 1
	Schedule func() *pace.Schedule
	Duration time.Duration
}

// Sent is what was sent.
type Sent struct {
	Datagrams int64
	Due       int64 // datagrams of the schedule
	Took      time.Duration
}

// breath is how long a sender sleeps when nothing is due: datagrams that fall due
// meanwhile are sent together.
const breath = 200 * time.Microsecond

// Send sends the workload until the duration is over. What was due by then but not yet
// sent is not sent.
func Send(ctx context.Context, c Config) (Sent, error) {
	s := &sending{Config: c, counter: pace.NewCounter(c.Schedule())}
	defer s.close()
	if err := s.open(); err != nil {
		return Sent{}, err
	}
	begin := time.Now()
	for {
		now := time.Since(begin)
		s.Due = s.counter.Due(min(now, c.Duration-1)) // the end itself is no part of it
		s.Took = now
		if now >= c.Duration || ctx.Err() != nil {
			return s.Sent, ctx.Err()
		}
		if s.Datagrams == s.Due {
			time.Sleep(breath)
			continue
		}
		if err := s.sendSome(); err != nil {
			return s.Sent, err
		}
	}
}

// sending is a Send under way.
type sending struct {
	Config
	Sent
	counter *pace.Counter
	sockets []*sender
	sources []*workload.Source
	boxes   []workload.Outbox
	turn    int
}

func (s *sending) open() error {
	s.boxes = make([]workload.Outbox, s.Sockets)
	for i := range s.Sockets {
		socket, err := openSender(s.Address)
		if err != nil {
			return err
		}
		s.sockets = append(s.sockets, socket)
		s.sources = append(s.sources, s.Workload.Source(i, nil))
	}
	return nil
}

func (s *sending) close() error {
	var errs []error
	for _, socket := range s.sockets {
		errs = append(errs, socket.close())
	}
	return errors.Join(errs...)
}

// sendSome sends a batch of what is due from the socket whose turn it is.
func (s *sending) sendSome() error {
	n := int(min(s.Due-s.Datagrams, batch))
	i := s.turn
	s.turn = (s.turn + 1) % s.Sockets
	box := &s.boxes[i]
	box.Clear()
	_, n = s.sources[i].Append(box, n, time.Now().UnixMicro())
	if err := s.sockets[i].send(box.Bytes(), s.Workload.MsgBytes(), frame.HeaderLen); err != nil {
		return err
	}
	s.Datagrams += int64(n)
	return nil
}
