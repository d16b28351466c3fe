package main

import (
	"bytes"
	"fmt"
	"net"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"darboux/handlers/riemann"
	"darboux/handlers/riemann/pb"
)

// runOnce runs the daemon with an environment and waits for its end.
func runOnce(t *testing.T, environ []string, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), builtBinary(t), args...)
	cmd.Env = append([]string{raceOptions}, environ...)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	if _, exited := err.(*exec.ExitError); err != nil && !exited {
		t.Fatal(err)
	}
	return cmd.ProcessState.ExitCode(), out.String(), errs.String()
}

func TestWrongSettingsStartNothing(t *testing.T) {
	code, stdout, stderr := runOnce(t, []string{"DARBOUX_RING_SLOTS=3", "DARBOUX_NO_SUCH=1"}, "--loops", "none", "--max-frame", "1TiB", "--udp", "5555")
	if code != exitUsage || stdout != "" {
		t.Errorf("exit code %d, want %d; stdout %q", code, exitUsage, stdout)
	}
	for _, want := range []string{
		`--loops "none" (flag): must be a whole number from 1 to 256, or auto`,
		`--max-frame "1TiB" (flag): must be a size such as 64KiB, from 1KiB to 1GiB`,
		`--ring-slots "3" (DARBOUX_RING_SLOTS): must be a power of two`,
		`DARBOUX_NO_SUCH="1"`,
		`--udp "5555" (flag): must be host:port`,
	} {
		if !strings.Contains(stderr, want) {
			t.Errorf("stderr lacks %s:\n%s", want, stderr)
		}
	}
}

func TestCheckPrintsSettings(t *testing.T) {
	file := settingsFile(t, "loops = 3\nhandlers = 5\nttl = 2m\n")
	code, stdout, stderr := runOnce(t, []string{"DARBOUX_HANDLERS=6"}, "--check", "--config", file, "--ring-slots", "64")
	if code != exitOK || strings.Contains(stderr, "level=ERROR") {
		t.Fatalf("exit code %d, stderr %q", code, stderr)
	}
	lines := strings.Split(stdout, "\n")
	for _, want := range [][]string{
		{"loops = 3", "# " + file + ":1"}, {"handlers = 6", "# DARBOUX_HANDLERS"}, {"ttl = 2m", "# " + file + ":3"},
		{"ring-slots = 64", "# flag"}, {"max-frame = 16MiB", "# default"}, {"max-conns = auto", "# default, here "},
	} {
		if !slices.ContainsFunc(lines, func(l string) bool { return strings.HasPrefix(l, want[0]+" ") && strings.Contains(l, want[1]) }) {
			t.Errorf("no line %v in:\n%s", want, stdout)
		}
	}
}

func TestVersionAndHelp(t *testing.T) {
	code, stdout, _ := runOnce(t, nil, "--version")
	if code != exitOK || !strings.HasPrefix(stdout, "darboux ") || !strings.Contains(stdout, "go1.") {
		t.Errorf("--version: exit code %d, %q", code, stdout)
	}
	code, stdout, _ = runOnce(t, nil, "--help")
	if code != exitOK || !strings.Contains(stdout, "--max-frame SIZE") {
		t.Errorf("--help: exit code %d, %q", code, stdout)
	}
}

// What the Makefile notes of the commit stands in the version where Go can't tell.
func TestVersionNamesTheCommit(t *testing.T) {
	path, err := build("darboux-stamped", "-ldflags", "-X main.builtFrom=0123456789ab")
	if err != nil {
		t.Fatal(err)
	}
	out := do(t, "", path, "--version")
	if !strings.HasPrefix(out, "darboux 0123456789ab go1.") {
		t.Errorf("--version: %q", out)
	}
}

// What precedence says of settings holds for the running daemon.
func TestPrecedenceInTheDaemon(t *testing.T) {
	file := settingsFile(t, "handlers = 1\nloops = 3\nring-slots = 16\n")
	cmd := []string{"--config", file, "--handlers", "2"}
	d := start(t, cmd...)
	l := d.await(func(l logLine) bool { return l.message() == "starting" })
	for key, want := range map[string]int64{"handlers": 2, "loops": 3, "ring_slots": 16} {
		if got := l.number(t, key); got != want {
			t.Errorf("%s = %d in the start line, want %d", key, got, want)
		}
	}
}

func TestSeveralListeners(t *testing.T) {
	d := start(t, "--tcp", "127.0.0.1:0", "--tcp", "[::1]:0,127.0.0.1:0", "--loops", "2")
	d.mu.Lock()
	var addrs []string
	for _, l := range d.lines {
		if l.message() == "listening" {
			addrs = append(addrs, l.text("addr"))
		}
	}
	d.mu.Unlock()
	if len(addrs) != 3 {
		t.Fatalf("%d listeners, want 3: %v", len(addrs), addrs)
	}
	for i, addr := range addrs {
		if strings.HasSuffix(addr, ":0") {
			t.Errorf("the log names %s, want the real port", addr)
		}
		dial(t, addr).send(event(fmt.Sprintf("listener %d", i), 1))
	}
	if found := dial(t, addrs[0]).query("true"); len(found) != 3 {
		t.Errorf("%d events, want one by each listener", len(found))
	}
}

// --check tells what can be known of a start without one.
func TestCheckForesees(t *testing.T) {
	for _, tc := range []struct {
		args []string
		code int
		want string // in stderr
	}{
		{[]string{"--snapshot", "/nonexistent/x"}, exitFailed, "--snapshot: stat /nonexistent: no such file or directory"},
		{[]string{"--tcp", "nowhere.invalid:5555"}, exitFailed, "--tcp nowhere.invalid:5555: lookup nowhere.invalid"},
		{[]string{"--tcp", "", "--udp", "", "--http", ""}, exitUsage, "nothing is served"},
		{[]string{"--tcp", "127.0.0.1:7777", "--http", "127.0.0.1:7777"}, exitUsage, "tcp 127.0.0.1:7777 is served by --tcp already"},
		{[]string{"--memory", "1TiB"}, exitOK, "at worst more memory is needed than there is"},
		{[]string{"--max-conns", "10000000"}, exitOK, "the limit of open files is too low for the connections"},
		{[]string{"--http", ":5556"}, exitOK, "HTTP is served beyond this machine"},
		{[]string{"--tcp", "127.0.0.1:0,127.0.0.1:0", "--graphite", "127.0.0.1:5555", "--snapshot", snapshotFile(t)}, exitUsage, "udp 127.0.0.1:5555 is served by --udp already"},
		{[]string{"--tcp", "127.0.0.1:0,127.0.0.1:0", "--udp", "127.0.0.1:0", "--snapshot", snapshotFile(t)}, exitOK, ""},
	} {
		code, _, stderr := runOnce(t, nil, append(tc.args, "--check")...)
		if code != tc.code || !strings.Contains(stderr, tc.want) || tc.want == "" && strings.Contains(stderr, "level=ERROR") {
			t.Errorf("%v: exit code %d, want %d; stderr, in which should be %q:\n%s", tc.args, code, tc.code, tc.want, stderr)
		}
	}
}

// Where the limit of open files leaves few connections the start says so, with the cure.
func TestFewOpenFiles(t *testing.T) {
	for _, tc := range []struct {
		files int
		conns string
		cure  string // empty: no warning
	}{
		{100, "auto", "ulimit -n 192, or more"}, {191, "auto", "ulimit -n 192, or more"}, {192, "auto", ""}, {20_000, "auto", ""},
		{20_000, "1000000", "ulimit -n 1000128, or more"}, {20_000, "10", ""}, {20_000, "19872", ""},
	} {
		m := testMachine
		m.files = tc.files
		o, _, err := load([]string{"--max-conns", tc.conns}, nil, m)
		if err != nil {
			t.Fatal(err)
		}
		got := o.filesWarnings()
		if tc.cure == "" && len(got) > 0 || tc.cure != "" && (len(got) != 1 || !slices.Contains(got[0].fields, any(tc.cure))) {
			t.Errorf("%d open files, --max-conns %s: warned %v, want the cure %q", tc.files, tc.conns, got, tc.cure)
		}
	}
}

// A port that somebody has is an error that names flag and address, and the process
// ends without having been ready.
func TestPortTaken(t *testing.T) {
	first := start(t)
	for name, addr := range map[string]string{"by another darboux": first.addr, "by another program": takenAddress(t)} {
		t.Run(name, func(t *testing.T) {
			code, _, stderr := runOnce(t, nil, "--tcp", addr)
			if code != exitFailed || !strings.Contains(stderr, "--tcp") || !strings.Contains(stderr, addr) || !strings.Contains(stderr, "in use") {
				t.Errorf("exit code %d, stderr %s", code, stderr)
			}
			if strings.Contains(stderr, "msg=ready") {
				t.Error("it was ready")
			}
		})
	}
	dial(t, first.addr).send(event("still served", 1))
}

func takenAddress(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	return listener.Addr().String()
}

// Right after a drain the same port can be had again, although connections of the
// one before linger in the kernel, closed first by the server.
func TestRestartRightAfterDrain(t *testing.T) {
	d := start(t)
	addr := d.addr
	for round := range 5 {
		clients := make([]*client, 20)
		for i := range clients {
			clients[i] = dial(t, addr)
			clients[i].send(event("restart", int64(round)))
		}
		d.signal(syscall.SIGTERM)
		for _, c := range clients {
			c.end()
			c.done()
		}
		if code := d.wait(); code != exitOK {
			t.Fatalf("exit code %d", code)
		}
		d.ledger()
		d = start(t, "--tcp", addr)
		if d.addr != addr {
			t.Fatalf("restarted on %s, want %s", d.addr, addr)
		}
	}
}

// At SIGTERM or SIGINT what was received is answered, then every connection sees the
// end of its stream.
func TestDrainAnswersWhatWasReceived(t *testing.T) {
	for _, sig := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT} {
		t.Run(sig.String(), func(t *testing.T) {
			d := start(t)
			const n = 1000
			c, idle := dial(t, d.addr), dial(t, d.addr)
			idle.send(event("idle", 1))
			c.write(alternating{"drain ", n, n}.frames(t))
			c.ack() // the first reply: the daemon is at work on them
			d.signal(sig)
			whole := 1
			for {
				b, err := c.frame()
				if err != nil {
					if err.Error() != "EOF" {
						t.Errorf("after %d replies: %v, want the end of the stream after a whole reply", whole, err)
					}
					break
				}
				if whole%2 == 0 != slices.Equal(b, riemann.Ack) {
					t.Fatalf("reply %d is % .100x", whole, b)
				}
				whole++
			}
			idle.end()
			if code := d.wait(); code != exitOK {
				t.Errorf("exit code %d, want %d", code, exitOK)
			}
			if got := d.ledger().number(t, "frames_received"); got != int64(whole)+1 {
				t.Errorf("%d frames were received, and %d answered on this connection and 1 on the other", got, whole)
			}
		})
	}
}

// The ledger tells what was done for peers, and refused.
func TestLedgerTellsTheWork(t *testing.T) {
	d := start(t, "--graphite", "127.0.0.1:0", "--opentsdb", "127.0.0.1:0", "--http", "127.0.0.1:0", "--udp", "127.0.0.1:0", "--index-entries", "3")
	c := dial(t, d.addr)
	c.send(event("one", 1))
	c.query("true")
	c.done()
	for flag, lines := range map[string]string{"--graphite": "a 1\nb 1\nc 1\nd nan\n", "--opentsdb": "put a 1 1\n"} {
		c := dial(t, listenerAddr(t, d, flag, "tcp"))
		c.write([]byte(lines))
		if err := c.shutdown(); err != nil {
			t.Fatal(err)
		}
		c.end()
	}
	ledger := d.drain()
	for key, want := range map[string]int64{"msgs": 2, "events": 1, "queries": 1, "events_refused": 0, "datagrams_received": 0,
		"graphite_lines": 4, "opentsdb_lines": 1, "http_requests": 0, "connections_accepted": 3} {
		if got := ledger.number(t, key); got != want {
			t.Errorf("%s = %d, want %d", key, got, want)
		}
	}
	if n := ledger.number(t, "graphite_events_refused") + ledger.number(t, "opentsdb_events_refused"); n != 1 {
		t.Errorf("%d events of lines were refused, want 1: the index has room for 3", n)
	}
}

// The steps of the stop are logged, the last first, each with its time.
func TestStopIsStartInReverse(t *testing.T) {
	d := start(t, "--self-events", "10s", "--snapshot", snapshotFile(t))
	d.drain()
	var stopped []string
	for _, l := range d.lines {
		if l.message() == "stopped" {
			stopped = append(stopped, l.text("part"))
			l.seconds(t, "took")
		}
	}
	want := []string{"self events", "reaper", "connections", "body writers", "handlers", "loops", "snapshots", "index"}
	if !slices.Equal(stopped, want) {
		t.Errorf("stopped %v, want %v", stopped, want)
	}
}

// A client that does not read its replies can't hold up the end for longer than
// --drain-timeout, and the exit code tells that not everything was answered.
func TestDrainTimeout(t *testing.T) {
	d := start(t, "--drain-timeout", "200ms", "--write-timeout", "1h")
	c := dial(t, d.addr)
	stuck(c)
	begin := time.Now()
	d.signal(syscall.SIGTERM)
	if code := d.wait(); code != exitFailed {
		t.Errorf("exit code %d, want %d", code, exitFailed)
	}
	if took := time.Since(begin); took < 200*time.Millisecond {
		t.Errorf("ended after %v, before its --drain-timeout", took)
	}
	d.ledger()
}

// stuck makes c a connection with replies that nobody reads.
func stuck(c *client) {
	c.t.Helper()
	c.send(largeEvent())
	flood(c)
}

func largeEvent() *pb.Event {
	large := event("large", 1)
	large.Description = proto.String(strings.Repeat("x", 60_000))
	return large
}

// flood asks for the large event until its requests are no longer taken, or the
// daemon has closed the connection. It may run on any goroutine.
func flood(c *client) {
	ask := bytes.Repeat(framed(largeQuery), 1000)
	if err := c.SetWriteDeadline(time.Now().Add(500 * time.Millisecond)); err != nil {
		c.t.Error(err)
	}
	for {
		if _, err := c.Write(ask); err != nil {
			return
		}
	}
}

// largeQuery is the body of the Msg that asks for the large event.
var largeQuery = riemann.AppendQueryField(nil, `service = "large"`)

// Every counter of the daemon can be read by any client, as an event of its own.
func TestSelfEventsCanBeQueried(t *testing.T) {
	d := start(t, "--self-events", "100ms")
	c := dial(t, d.addr)
	c.send(event("mine", 1))
	hostname, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	limit := newDeadline(t)
	var found []*pb.Event
	for len(found) == 0 || frames(found) == 0 {
		limit.check("no self event says that a frame was received")
		found = c.query(fmt.Sprintf(`service =~ "darboux %%" and host = %q`, hostname))
	}
	if len(found) > mostMetrics {
		t.Errorf("%d self events, want a few hundred at most", len(found))
	}
	for _, e := range found {
		if e.MetricSint64 == nil || e.GetDescription() == "" || e.GetTtl() < 0.29 || e.GetTtl() > 0.31 {
			t.Errorf("a self event lacks something: %v", e)
		}
	}
}

// frames returns what the self events say of the frames received.
func frames(events []*pb.Event) int64 {
	for _, e := range events {
		if e.GetService() == "darboux frames received" {
			return e.GetMetricSint64()
		}
	}
	return 0
}
