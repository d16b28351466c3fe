package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"darboux/handlers/riemann"
	"darboux/handlers/riemann/pb"
)

// These tests run the clients that people use against the started daemon.

// do runs a client and returns what it printed. It must succeed.
func do(t *testing.T, stdin string, program string, args ...string) string {
	t.Helper()
	out, err := try(t, stdin, program, args...)
	if err != nil {
		t.Fatalf("%s %.200q: %v\n%s", program, args, err, out)
	}
	return out
}

// try runs a client, which may fail, and returns all it printed.
func try(t *testing.T, stdin string, program string, args ...string) (string, error) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), program, args...)
	cmd.Stdin = strings.NewReader(stdin)
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// hostPort splits the daemon's address for clients that want it so.
func hostPort(t *testing.T, d *daemon) []string {
	t.Helper()
	host, port, err := net.SplitHostPort(d.addr)
	if err != nil {
		t.Fatal(err)
	}
	return []string{host, port}
}

// cli runs riemann-client against the daemon.
func cli(t *testing.T, d *daemon, stdin string, args ...string) string {
	t.Helper()
	return do(t, stdin, need(t, "riemann-client", "riemann-c-client"), append(args, hostPort(t, d)...)...)
}

// A cliEvent is an event as riemann-client prints it with --json.
type cliEvent struct {
	Host         string   `json:"host"`
	Service      string   `json:"service"`
	State        string   `json:"state"`
	Description  string   `json:"description"`
	Tags         []string `json:"tags"`
	MetricSint64 *float64 `json:"metric_sint64"`
	MetricD      *float64 `json:"metric_d"`
	MetricF      *float64 `json:"metric_f"`
	TTL          *float64 `json:"ttl"`
}

func cliQuery(t *testing.T, d *daemon, query string) []cliEvent {
	t.Helper()
	out := cli(t, d, "", "query", query, "--json")
	var events []cliEvent
	if err := json.Unmarshal([]byte(out), &events); err != nil {
		t.Fatalf("query %s printed %.1000s: %v", query, out, err)
	}
	return events
}

func TestRiemannClientSendsEveryMetric(t *testing.T) {
	d := start(t)
	rows := []struct {
		name string
		args []string
		s    *float64 // metric_sint64 of the reply
		d    *float64 // metric_d of the reply
		f    *float64 // metric_f of the reply
	}{
		{"sint64", []string{"-i", "-42"}, proto.Float64(-42), nil, proto.Float64(-42)},
		{"sint64 zero", []string{"-i", "0"}, proto.Float64(0), nil, proto.Float64(0)},
		{"double", []string{"-d", "1.25"}, nil, proto.Float64(1.25), proto.Float64(1.25)},
		{"float", []string{"-f", "2.5"}, nil, proto.Float64(2.5), proto.Float64(2.5)},
		{"all three", []string{"-i", "7", "-d", "8.5", "-f", "9.5"}, proto.Float64(7), nil, proto.Float64(7)},
		{"none", nil, nil, nil, nil},
	}
	for _, r := range rows {
		t.Run(r.name, func(t *testing.T) {
			service := "metric " + r.name
			cli(t, d, "", append([]string{"send", "-s", "ok", "-S", service, "-h", "cli", "-D", "about it", "-t", "tagged", "-L", "300"}, r.args...)...)
			found := cliQuery(t, d, fmt.Sprintf("host = %q and service = %q", "cli", service))
			if len(found) != 1 {
				t.Fatalf("found %v, want one event", found)
			}
			e := found[0]
			if e.Host != "cli" || e.Service != service || e.State != "ok" || e.Description != "about it" ||
				!slices.Equal(e.Tags, []string{"tagged"}) || e.TTL == nil || *e.TTL != 300 {
				t.Errorf("found %+v", e)
			}
			for _, m := range []struct {
				kind      string
				got, want *float64
			}{{"metric_sint64", e.MetricSint64, r.s}, {"metric_d", e.MetricD, r.d}, {"metric_f", e.MetricF, r.f}} {
				if (m.got == nil) != (m.want == nil) || m.got != nil && *m.got != *m.want {
					t.Errorf("%s is %s, want %s", m.kind, number(m.got), number(m.want))
				}
			}
		})
	}
}

func number(n *float64) string {
	if n == nil {
		return "missing"
	}
	return fmt.Sprint(*n)
}

func TestRiemannClientLargeDescription(t *testing.T) {
	d := start(t)
	description := strings.Repeat("0123456789", 10_000)
	cli(t, d, "", "send", "-S", "large", "-h", "cli", "-D", description, "-i", "1")
	if got := cliQuery(t, d, `service = "large"`); len(got) != 1 || got[0].Description != description {
		t.Errorf("the description of 100 kB did not come back: %d events", len(got))
	}
}

// With -0 the client sends a Msg for each line of its input, all on one connection.
func TestRiemannClientReadsStdin(t *testing.T) {
	d := start(t)
	var lines strings.Builder
	for i := 1; i <= 200; i++ {
		fmt.Fprintf(&lines, "%d.5 warning\n", i)
	}
	lines.WriteString("7 critical\n")
	cli(t, d, lines.String(), "send", "-0", "-S", "stdin", "-h", "cli")
	got := cliQuery(t, d, `service = "stdin"`)
	if len(got) != 1 || got[0].State != "critical" || got[0].MetricSint64 == nil || *got[0].MetricSint64 != 7 {
		t.Errorf("found %+v, want the last line's event", got)
	}
	ledger := d.drain()
	if n := ledger.number(t, "frames_received"); n != 202 {
		t.Errorf("%d frames received, want 201 lines and a query", n)
	}
	if n := ledger.number(t, "connections_accepted"); n != 2 {
		t.Errorf("%d connections accepted, want one for all lines and one for the query", n)
	}
}

func TestRiemannClientSeesAnError(t *testing.T) {
	d := start(t)
	program := need(t, "riemann-client", "riemann-c-client")
	out, err := try(t, "", program, append([]string{"query", "service = "}, hostPort(t, d)...)...)
	if err == nil || !strings.Contains(out, "parse error: ") {
		t.Errorf("a bad query: error %v, printed %q", err, out)
	}
}

func TestLibriemannClientPipelines(t *testing.T) {
	cc := need(t, "cc", "gcc")
	program := filepath.Join(t.TempDir(), "pipeline")
	if out, err := try(t, "", cc, "-Wall", "-o", program, "testdata/pipeline.c", "-lriemann-client"); err != nil {
		if strings.Contains(out, "riemann-client.h: No such file") {
			leaveOut(t, "libriemann-client-dev is not installed")
		}
		t.Fatalf("%v\n%s", err, out)
	}
	d := start(t)
	if got := do(t, "", program, append(hostPort(t, d), "1000")...); got != "1000\n" {
		t.Errorf("printed %q, want the metric of the last event", got)
	}
	if n := d.drain().number(t, "frames_received"); n != 1001 {
		t.Errorf("%d frames received, want 1001", n)
	}
}

func TestRubyClient(t *testing.T) {
	ruby := need(t, "ruby", "ruby-riemann-client")
	if _, err := try(t, "", ruby, "-e", "require 'riemann/client'"); err != nil {
		leaveOut(t, "ruby-riemann-client is not installed")
	}
	d := start(t, "--ttl", "90s")
	got := do(t, "", ruby, append([]string{"testdata/client.rb"}, hostPort(t, d)...)...)
	want := "float warn 1.25 100000  90.0\n" +
		"int ok 42 0 a+b 300.0\n" +
		"none critical nil 0  90.0\n" +
		"Failed\n" + // the library says so by itself
		"parse error:\n" +
		"0\n"
	if got != want {
		t.Errorf("printed:\n%s\nwant:\n%s", got, want)
	}
}

// nc -N shuts down its sending side at the end of its input and then waits for what
// it is owed.
func TestNetcatHalfCloses(t *testing.T) {
	nc := need(t, "nc", "netcat-openbsd")
	d := start(t)
	const n = 500
	var input, want bytes.Buffer
	for i := range n {
		input.Write(encoded(t, &pb.Msg{Events: []*pb.Event{event(fmt.Sprintf("nc %d", i), int64(i))}}))
		want.Write(riemann.Ack)
	}
	got := do(t, input.String(), nc, append([]string{"-N"}, hostPort(t, d)...)...)
	if got != want.String() {
		t.Errorf("got %d bytes, want %d acknowledgements of %d bytes", len(got), n, len(riemann.Ack))
	}
	c := dial(t, d.addr)
	if events := c.query(`service =~ "nc %"`); len(events) != n {
		t.Errorf("%d events are indexed, want %d", len(events), n)
	}
}
