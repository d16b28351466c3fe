package main

import (
	"bytes"
	"testing"

	"darboux/frame"
)

// endlessWorker yields for ever in the middle of a frame that begins with an e, and answers
// any other one with itself.
type endlessWorker struct{}

type endless struct{}

func (endless) Release() {}

func (endlessWorker) Work(b *frame.Burst) frame.Status {
	for b.Next < len(b.In) && !b.Gone() {
		body, rest := frame.Next(b.Left())
		if body[0] == 'e' {
			b.Kept = endless{}
			return frame.Yielded
		}
		b.Next = len(b.In) - len(rest)
		b.Out = append(b.Out, framed(body)...)
	}
	return frame.Done
}

// However many connections have work that doesn't end, more than there are slots, all of
// them have turns, and who asks for little is answered.
func TestWorkWithoutEndLeavesSlotsToOthers(t *testing.T) {
	for _, n := range []int{1, 2} {
		s := newServer(optionsOf(t), newLogger(t.Output(), "info", "text"))
		protocols := []*frame.Protocol{{
			Name: "endless", MaxFrame: frame.Limit{Flag: "--max-frame", Value: 1 << 10},
			Cut: frame.CutLengthPrefixed, NewWorker: func() frame.Worker { return endlessWorker{} },
		}}
		ring := frame.NewRing[*frame.Burst](4)
		cfg := s.loopConfig(ring, protocols)
		cfg.Loops = n
		loops := startOwnLoops(t, cfg, 2)
		for range 8 * ring.Cap() {
			dial(t, loops.addr).write(framed([]byte("endless")))
		}
		for range 100 {
			bystander := dial(t, loops.addr)
			bystander.write(framed([]byte("small")))
			if got, err := bystander.frame(); err != nil || !bytes.Equal(got, framed([]byte("small"))) {
				t.Fatalf("got %q, %v", got, err)
			}
		}
		loops.end(t)
		s.store.Close()
	}
}
