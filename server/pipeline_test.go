package main

import (
	"fmt"
	"net"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"darboux/handlers/riemann"
	"darboux/handlers/riemann/pb"
)

// pairs is how many events, each followed by its query, go out on one connection
// before the replies are checked: 10,000 frames.
const pairs = 5_000

// A stream of alternating frames: pair i is an event of service i with metric i, and
// the query for that service, the services being taken in turns.
type alternating struct {
	name     string
	pairs    int
	services int
}

func (a alternating) service(i int) string { return a.name + strconv.Itoa(i%a.services) }

// frames returns the stream.
func (a alternating) frames(t *testing.T) []byte {
	t.Helper()
	var stream []byte
	for i := range a.pairs {
		service := a.service(i)
		stream = append(stream, encoded(t, &pb.Msg{Events: []*pb.Event{event(service, int64(i))}})...)
		stream = append(stream, encoded(t, queryMsg(`service = "`+service+`"`))...)
	}
	return stream
}

// check reads the replies: the i-th is the i-th answer.
func (a alternating) check(c *client) error {
	for i := range a.pairs {
		b, err := c.frame()
		if err != nil {
			return fmt.Errorf("reply %d: %w", 2*i, err)
		}
		if !slices.Equal(b, riemann.Ack) {
			return fmt.Errorf("reply %d is % .100x, want the acknowledgement", 2*i, b)
		}
		if b, err = c.frame(); err != nil {
			return fmt.Errorf("reply %d: %w", 2*i+1, err)
		}
		var msg pb.Msg
		if err := proto.Unmarshal(b[4:], &msg); err != nil {
			return fmt.Errorf("reply %d: %w", 2*i+1, err)
		}
		if !msg.GetOk() || len(msg.Events) != 1 || msg.Events[0].GetService() != a.service(i) || msg.Events[0].GetMetricSint64() != int64(i) {
			return fmt.Errorf("reply %d is %v, want %s with metric %d", 2*i+1, &msg, a.service(i), i)
		}
	}
	return nil
}

// writeAll writes a stream that may take long: each piece has patience of its own.
func writeAll(c net.Conn, stream []byte) error {
	for piece := range slices.Chunk(stream, 64<<10) {
		if err := c.SetWriteDeadline(time.Now().Add(patience)); err != nil {
			return err
		}
		if _, err := c.Write(piece); err != nil {
			return err
		}
	}
	return nil
}

// pipelineOn sends a stream as fast as the daemon takes it on each of so many
// connections, and checks every reply.
func pipelineOn(t *testing.T, d *daemon, connections, perConnection, services int) {
	t.Helper()
	var all sync.WaitGroup
	clients := make([]*client, connections)
	failed := make([]error, connections)
	for i := range connections {
		c := dial(t, d.addr)
		clients[i] = c
		a := alternating{fmt.Sprintf("c%d ", i), perConnection, services}
		stream := a.frames(t)
		all.Go(func() {
			if err := writeAll(c, stream); err != nil {
				t.Errorf("connection %d: %v", i, err)
			}
		})
		all.Go(func() { failed[i] = a.check(c) })
	}
	all.Wait()
	for i, err := range failed {
		if err != nil {
			t.Errorf("connection %d: %v", i, err)
		}
		clients[i].done()
	}
	ledger := d.drain()
	if want, got := int64(2*connections*perConnection), ledger.number(t, "frames_received"); got != want {
		t.Errorf("%d frames received, want %d", got, want)
	}
}

func TestRepliesInOrder(t *testing.T) {
	many := pairs // on each of 64 connections; their 512 queries stay in the cache of compiled ones
	if underRace {
		many /= 2 // a frame takes twenty times as long
	}
	for _, row := range []struct {
		name                         string
		flags                        []string
		connections, pairs, services int
	}{
		{"one connection", nil, 1, pairs, 500},
		{"one connection, worked on the loop", []string{"--handlers", "0"}, 1, pairs, 500},
		{"one connection, a ring of two", []string{"--loops", "1", "--handlers", "2", "--ring-slots", "2"}, 1, pairs / 5, 500},
		{"64 connections, 4 loops, 8 handlers", []string{"--loops", "4", "--handlers", "8"}, 64, many, 8},
		{"64 connections, worked on 4 loops", []string{"--loops", "4", "--handlers", "0"}, 64, many, 8},
		{"64 connections, a ring of four", []string{"--loops", "4", "--handlers", "8", "--ring-slots", "4"}, 64, pairs / 10, 8},
	} {
		t.Run(row.name, func(t *testing.T) {
			pipelineOn(t, start(t, row.flags...), row.connections, row.pairs, row.services)
		})
	}
}
