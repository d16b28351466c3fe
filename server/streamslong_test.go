//go:build long && !race

package main

import (
	"encoding/binary"
	"fmt"
	"io"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/protobuf/encoding/protowire"

	"darboux/handlers/riemann"
)

// A reply of a million entries to a reader that takes 1 MB a second, while all of them are
// overwritten again and again: it is whole, and ingestion goes on.
func TestLongReply(t *testing.T) {
	const perSecond = 1_000_000
	d := start(t, "--stream-memory", "512MiB", "--self-events", "1s", "--loops", "1")
	load := func(flags ...string) float64 { return loadRate(t, d, flags...) }
	load("--fill", "--duration", "1s")
	var without, during, after []float64
	for range 5 {
		without = append(without, load("--duration", "5s"))
	}
	reader, bystander := dial(t, d.addr), dial(t, d.addr)
	if err := reader.SetDeadline(time.Now().Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	reader.write(encoded(t, queryMsg(`not service =~ "darboux %"`)))
	var received atomic.Int64
	var reply []byte
	done := make(chan error, 1)
	begin := time.Now()
	go func() {
		var err error
		reply, err = readSlowly(reader, perSecond, &received)
		done <- err
	}()
	most := int64(0)
	for reading := true; reading; {
		during = append(during, load("--duration", "5s"))
		if err := bystander.SetDeadline(time.Now().Add(patience)); err != nil {
			t.Fatal(err)
		}
		most = max(most, bystander.metric("stream memory bytes"))
		select {
		case err := <-done:
			if err != nil {
				t.Fatalf("after %d bytes: %v", received.Load(), err)
			}
			reading = false
		default:
		}
	}
	took := time.Since(begin)
	for range 5 {
		after = append(after, load("--duration", "5s"))
	}
	events := wholeReply(t, reply)
	both := append(append([]float64(nil), without...), after...)
	text := fmt.Sprintf("darboux-load sends events of 185 bytes for 1,000,000 keys, 8 connections, 64 Msgs of 100 events outstanding on each, for 5 s at a time. "+
		"Meanwhile a client asks for all events and reads the reply at 1 MB/s. The daemon runs with `--stream-memory 512MiB`. Client and daemon share the machine. Medians, and the least and the greatest.\n\n"+
		"| | median | from | to |\n| --- | --- | --- | --- |\n%s%s\n"+
		"The reply: %d events, each key once, %.1f MiB, read in %.0f s. Stream memory was seen at %.1f MiB at most.\n",
		row("events/s without, before and after", 1, both), row("events/s while the reply leaves", 1, during), events, inMiB(int64(len(reply))), took.Seconds(), inMiB(most))
	finding{file: "reply.md", title: "A reply of a million events during ingestion", command: "make long-reply", text: text}.write(t)
	if ratio := during[len(during)/2] / both[len(both)/2]; ratio < 0.85 { // row has sorted them
		t.Errorf("ingestion is %.2f of what it is without", ratio)
	}
}

// readSlowly reads one reply at so many bytes a second.
func readSlowly(c *client, perSecond int, received *atomic.Int64) ([]byte, error) {
	var header [4]byte
	if _, err := io.ReadFull(c, header[:]); err != nil {
		return nil, err
	}
	body := make([]byte, binary.BigEndian.Uint32(header[:]))
	const pieces = 50 // a second
	ticks := time.NewTicker(time.Second / pieces)
	defer ticks.Stop()
	for got := 0; got < len(body); {
		<-ticks.C
		n, err := io.ReadFull(c, body[got:min(len(body), got+perSecond/pieces)])
		received.Add(int64(n))
		if got += n; err != nil {
			return nil, err
		}
	}
	return body, nil
}

// wholeReply looks at a reply, which must have a million keys, each once, and returns how
// many events it has.
func wholeReply(t *testing.T, body []byte) int {
	t.Helper()
	seen := map[string]bool{}
	var m riemann.Msg
	if err := m.Parse(body, 0); err != nil {
		t.Fatal(err)
	}
	for m.Next() {
		for i := range m.Events {
			e := &m.Events[i]
			key := string(protowire.AppendBytes(protowire.AppendBytes(nil, e.HostBytes()), e.ServiceBytes()))
			if seen[key] {
				t.Fatalf("%s %s is there twice", e.HostBytes(), e.ServiceBytes())
			}
			seen[key] = true
		}
	}
	if len(seen) < 1_000_000 {
		t.Errorf("%d events, want a million", len(seen))
	}
	return len(seen)
}
