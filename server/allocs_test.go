package main

import (
	"bytes"
	"fmt"
	"io"
	"log/slog"
	"net"
	"regexp"
	"runtime"
	"testing"

	"darboux/handlers/riemann"
)

// inProcess starts a daemon within the test's process, so that its allocations can be
// counted, and returns its Riemann address.
func inProcess(t *testing.T, args ...string) string {
	t.Helper()
	args = append([]string{"--tcp", "127.0.0.1:0", "--udp", "", "--http", "", "--self-events", "0", "--expire-every", "1h"}, args...)
	o, _, err := load(args, nil, machine{cores: 2, files: 1024, memory: gib})
	if err != nil {
		t.Fatal(err)
	}
	var lines bytes.Buffer
	s := newServer(o, slog.New(slog.NewTextHandler(&lines, nil)))
	if err := s.start(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if code := s.end(); code != exitOK {
			t.Errorf("the daemon ended with %d: %s", code, lines.String())
		}
	})
	m := regexp.MustCompile(`addr=(\S+)`).FindSubmatch(lines.Bytes())
	if m == nil {
		t.Fatalf("no address in %s", lines.String())
	}
	return string(m[1])
}

// repeat is bytes to send again and again, and how many bytes they are answered with.
type repeat struct {
	name     string
	requests int
	send     []byte
	replies  int
}

func repeated() []repeat {
	event := func(i int) []byte {
		r := riemann.Record{Host: fmt.Sprint("host", i%8), Service: fmt.Sprint("service ", i), State: "ok", Tags: []string{"a", "b"},
			TTL: 600, D: 1.5, Set: riemann.HasTTL | riemann.HasD}
		return r.AppendField(nil)
	}
	frameOf := func(body []byte) []byte {
		b := append(riemann.BeginFrame(nil), body...)
		riemann.EndFrame(b, 0)
		return b
	}
	lone := frameOf(event(1))
	pipelined := bytes.Repeat(lone, 64)
	var many []byte
	for i := range 100 {
		many = append(many, event(i)...)
	}
	query := frameOf(riemann.AppendQueryField(nil, `host = "nobody" and service = "nothing"`))
	return []repeat{
		{"one event at a time", 1, lone, 6},
		{"64 Msgs of one event", 64, pipelined, 64 * 6},
		{"16 Msgs of 100 events", 16, bytes.Repeat(frameOf(many), 16), 16 * 6},
		{"64 queries that find nothing", 64, bytes.Repeat(query, 64), 64 * 6},
	}
}

// In the steady state neither an event nor a request allocates anything, from the socket
// to the reply.
func TestNothingIsAllocatedInTheSteadyState(t *testing.T) {
	if underRace {
		t.Skip("the race detector allocates; the run without it counts")
	}
	for _, handlers := range []string{"2", "0"} {
		addr := inProcess(t, "--handlers", handlers)
		for _, e := range repeated() {
			t.Run(fmt.Sprintf("%s, handlers=%s", e.name, handlers), func(t *testing.T) {
				c, err := net.Dial("tcp", addr)
				if err != nil {
					t.Fatal(err)
				}
				defer c.Close()
				replies := make([]byte, e.replies)
				run := func(times int) {
					for range times {
						if _, err := c.Write(e.send); err != nil {
							t.Fatal(err)
						}
						if _, err := io.ReadFull(c, replies); err != nil {
							t.Fatal(err)
						}
					}
				}
				run(200)
				const times = 1000
				var before, after runtime.MemStats
				runtime.ReadMemStats(&before)
				run(times)
				runtime.ReadMemStats(&after)
				each := float64(after.Mallocs-before.Mallocs) / float64(times*e.requests)
				t.Logf("%.4f allocations a request", each)
				if each > 0.05 { // the runtime's own, such as for a timer or a collection, stay far below
					t.Errorf("%.3f allocations a request", each)
				}
			})
		}
	}
}
