package main

import (
	"slices"
	"testing"
	"time"

	"darboux/handlers/riemann/pb"
)

// exchanges is how many requests go out one after the other.
const exchanges = 200

// Acknowledgements and query replies that alternate never wait for a delayed ACK,
// which would take 40 ms each: length and body leave in one write.
func TestNoReplyWaitsForADelayedAck(t *testing.T) {
	for _, row := range []struct {
		name  string
		flags []string
	}{
		{"by ring", []string{"--handlers", "2"}},
		{"on the loop", []string{"--handlers", "0"}},
	} {
		t.Run(row.name, func(t *testing.T) {
			d := start(t, row.flags...)
			c := dial(t, d.addr)
			requests := [][]byte{
				encoded(t, &pb.Msg{Events: []*pb.Event{event("latency", 1)}}),
				encoded(t, queryMsg(`service = "latency"`)),
			}
			times := make([]time.Duration, exchanges)
			for i := range times {
				begin := time.Now()
				c.write(requests[i%2])
				if !c.reply().GetOk() {
					t.Fatalf("request %d is not ok", i)
				}
				times[i] = time.Since(begin)
			}
			slices.Sort(times)
			if median := times[len(times)/2]; median >= 20*time.Millisecond {
				t.Errorf("the median of %d request times is %v, want less than 20ms", len(times), median)
			}
			c.done()
			ledger := d.drain()
			if writes := ledger.number(t, "writes"); writes != exchanges {
				t.Errorf("%d writes for %d replies sent one at a time, want one each", writes, exchanges)
			}
		})
	}
}

// A request that arrives in two segments, as Go clients send it, is answered at once.
func TestHeaderAndBodyInTwoSegments(t *testing.T) {
	d := start(t)
	c := dial(t, d.addr)
	request := encoded(t, &pb.Msg{Events: []*pb.Event{event("two segments", 1)}})
	for range 20 {
		c.write(request[:4])
		c.write(request[4:])
		c.ack()
	}
}
