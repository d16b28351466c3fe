package handlers

import (
	"bytes"
	"fmt"
	"testing"

	"darboux/frame"
	"darboux/handlers/riemann/pb"
)

// Whole replies leave in front of a query that takes long, what is found of it stays
// behind, and in the end all are what they would be at once, whatever room there is.
func TestWholeRepliesDoNotWaitForALongOne(t *testing.T) {
	const entries = 5 * sliceEntries
	rare, some, all := queryOf(`service = "s7" or metric = 1`), queryOf(`service =~ "s1%" or metric = 1`), queryOf("true")
	for _, own := range []int{64 << 10, frame.OwnReply, 2 << 10} {
		for _, row := range []struct {
			name   string
			bodies []*pb.Msg
			first  int // replies that leave first
		}{
			{"an event", []*pb.Msg{eventsOf(1), rare}, 1},
			{"events and a query", []*pb.Msg{eventsOf(1), {Events: eventsOf(1).Events, Query: rare.Query}, eventsOf(1)}, 1},
			{"a query that has found something", []*pb.Msg{eventsOf(1), eventsOf(1), some, rare}, 2},
			{"a large reply", []*pb.Msg{eventsOf(1), all, eventsOf(1)}, 1},
		} {
			t.Run(fmt.Sprint(row.name, ", ", own), func(t *testing.T) {
				var bodies [][]byte
				for _, m := range row.bodies {
					bodies = append(bodies, encode(t, m))
				}
				whole := newBench(nil)
				fill(t, whole, entries)
				want := whole.taken(t, newBurst(bodies...), nil)
				b := newBench(nil)
				fill(t, b, entries)
				burst := newBurst(bodies...)
				burst.TakeReply()
				burst.Start(own)
				if status := b.worker.Work(burst); status != frame.Blocked {
					t.Fatalf("status %v after the first slice", status)
				}
				if n := len(replies(t, burst.Out)); n != row.first {
					t.Errorf("%d replies leave first; want %d", n, row.first)
				}
				got := append(leave(nil, burst), b.taken(t, burst, nil)...)
				if !bytes.Equal(got, want) {
					t.Errorf("%d bytes of replies; want %d", len(got), len(want))
				}
				leave(nil, burst)
				if n := burst.Extra.Stats().Taken; n != 0 {
					t.Errorf("%d bytes are still taken", n)
				}
			})
		}
	}
}

// fill puts so many entries into a bench's index.
func fill(t *testing.T, b *bench, entries int) {
	t.Helper()
	for _, r := range b.ask(t, encode(t, eventsOf(entries))) {
		if !r.GetOk() {
			t.Fatal(r.GetError())
		}
	}
}
