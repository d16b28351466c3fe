package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// This file starts the real daemon: built once for each kind of build, run on a
// free port, read by its log, stopped by its process id. Every daemon is drained at
// the end of its test, and its ledger must be at zero.

// patience bounds every wait for something that must happen; reaching it fails the
// test. It is long because machines that run tests may be slow and busy.
const patience = 60 * time.Second

// raceOptions make a race end the daemon, and its end quick.
const raceOptions = "GORACE=halt_on_error=1 atexit_sleep_ms=0"

// binaries is where the daemon is built. It is made when it is first needed, because a
// process that fuzzes ends within m.Run, where it could not be removed; TestMain does.
var binaries string

func TestMain(m *testing.M) {
	code := m.Run()
	if err := os.RemoveAll(binaries); err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

// plainBinary and raceBinary build the daemon when it is first asked for.
var (
	makeBinaries = sync.OnceValue(func() (err error) {
		binaries, err = os.MkdirTemp("", "darboux-test-")
		return err
	})
	plainBinary = sync.OnceValues(func() (string, error) { return build("darboux") })
	raceBinary  = sync.OnceValues(func() (string, error) { return build("darboux-race", "-race") })
)

func build(name string, flags ...string) (string, error) {
	if err := makeBinaries(); err != nil {
		return "", err
	}
	path := filepath.Join(binaries, name)
	args := slices.Concat([]string{"build", "-buildvcs=false", "-o", path}, flags, []string{"."})
	out, err := exec.Command("go", args...).CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("go %s: %w\n%s", strings.Join(args, " "), err, out)
	}
	return path, nil
}

// builtBinary returns the daemon built as the tests are: with the race detector or not.
func builtBinary(t *testing.T) string {
	t.Helper()
	get := plainBinary
	if underRace {
		get = raceBinary
	}
	path, err := get()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// A logLine is a line of the daemon's JSON log.
type logLine map[string]any

func (l logLine) message() string { return l.text("msg") }

func (l logLine) text(key string) string {
	s, _ := l[key].(string)
	return s
}

// number returns a number of the line; the test fails if it is not there.
func (l logLine) number(t *testing.T, key string) int64 {
	t.Helper()
	n, ok := l[key].(json.Number)
	if !ok {
		t.Fatalf("no number %s in %v", key, l)
	}
	i, err := n.Int64()
	if err != nil {
		t.Fatal(err)
	}
	return i
}

// seconds returns a duration of the line; the test fails if it is not there.
func (l logLine) seconds(t *testing.T, key string) float64 {
	t.Helper()
	n, ok := l[key].(json.Number)
	if !ok {
		t.Fatalf("no duration %s in %v", key, l)
	}
	s, err := n.Float64()
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// A daemon is a started darboux.
type daemon struct {
	t    *testing.T
	cmd  *exec.Cmd
	addr string // of the first TCP listener; empty if there is none

	reading chan struct{} // holds a token, which is taken by whoever wants the log to stay unread

	mu    sync.Mutex
	lines []logLine
	raw   []string // lines that are no JSON: a panic's stack, a race
	grown chan struct{}

	ended chan struct{} // closed when the process and its log are at their end
	err   error         // how the process ended; read after ended is closed
}

// start starts the daemon with these flags, waits until it is ready, and sees to it
// that it is drained at the end of the test and its ledger is right. If nothing
// else is said it listens on a free port of 127.0.0.1 and makes no self events.
func start(t *testing.T, flags ...string) *daemon {
	t.Helper()
	return startBinary(t, builtBinary(t), flags...)
}

func startBinary(t *testing.T, path string, flags ...string) *daemon {
	t.Helper()
	return startCommand(t, path, flags, func(*exec.Cmd) {})
}

// startCommand is startBinary, with a last word on how the process is started.
func startCommand(t *testing.T, path string, flags []string, change func(*exec.Cmd)) *daemon {
	t.Helper()
	d := launch(t, path, flags, change)
	d.await(func(l logLine) bool { return l.message() == "ready" })
	if l, ok := d.find(func(l logLine) bool { return l.message() == "listening" }); ok {
		d.addr = l.text("addr")
	}
	return d
}

// launch starts the daemon and waits for nothing.
func launch(t *testing.T, path string, flags []string, change func(*exec.Cmd)) *daemon {
	t.Helper()
	d := &daemon{t: t, cmd: exec.Command(path, flags...), reading: make(chan struct{}, 1), grown: make(chan struct{}), ended: make(chan struct{})}
	d.reading <- struct{}{}
	d.cmd.Env = []string{"DARBOUX_TCP=127.0.0.1:0", "DARBOUX_UDP=", "DARBOUX_HTTP=", "DARBOUX_LOG_FORMAT=json", "DARBOUX_SELF_EVENTS=0",
		raceOptions}
	change(d.cmd)
	stderr, err := d.cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := d.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go d.follow(haltable{stderr, d.reading})
	t.Cleanup(d.finish)
	return d
}

// haltable begins to read when the token is there.
type haltable struct {
	io.Reader
	token chan struct{}
}

func (h haltable) Read(p []byte) (int, error) {
	h.token <- <-h.token
	return h.Reader.Read(p)
}

// follow reads the log until its end, and then the process's exit.
func (d *daemon) follow(stderr io.Reader) {
	lines := bufio.NewScanner(stderr)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		decoder := json.NewDecoder(strings.NewReader(lines.Text()))
		decoder.UseNumber()
		var l logLine
		err := decoder.Decode(&l)
		d.mu.Lock()
		if err != nil {
			d.raw = append(d.raw, lines.Text())
		} else {
			d.lines = append(d.lines, l)
		}
		close(d.grown)
		d.grown = make(chan struct{})
		d.mu.Unlock()
	}
	d.err = d.cmd.Wait()
	close(d.ended)
}

// find returns the first line so far that matches.
func (d *daemon) find(matches func(logLine) bool) (logLine, bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if i := slices.IndexFunc(d.lines, matches); i >= 0 {
		return d.lines[i], true
	}
	return nil, false
}

// await waits for a line that matches and returns it.
func (d *daemon) await(matches func(logLine) bool) logLine {
	d.t.Helper()
	deadline := time.After(patience)
	for {
		d.mu.Lock()
		grown := d.grown
		d.mu.Unlock()
		if l, ok := d.find(matches); ok {
			return l
		}
		select {
		case <-grown:
		case <-d.ended:
			if l, ok := d.find(matches); ok {
				return l
			}
			d.t.Fatalf("darboux ended (%v) without the line waited for; its log:\n%s", d.err, d.log())
		case <-deadline:
			d.t.Fatalf("no such line within %v; the log:\n%s", patience, d.log())
		}
	}
}

// log returns all lines so far, for failures.
func (d *daemon) log() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	var b strings.Builder
	for _, l := range d.lines {
		fmt.Fprintln(&b, map[string]any(l))
	}
	for _, l := range d.raw {
		fmt.Fprintln(&b, l)
	}
	return b.String()
}

func (d *daemon) signal(sig syscall.Signal) {
	d.t.Helper()
	if err := d.cmd.Process.Signal(sig); err != nil {
		d.t.Fatalf("signal %v: %v", sig, err)
	}
}

// wait waits for the end of the process and returns its exit code.
func (d *daemon) wait() int {
	d.t.Helper()
	select {
	case <-d.ended:
	case <-time.After(patience):
		d.t.Fatalf("darboux does not end; its log:\n%s", d.log())
	}
	var exit *exec.ExitError
	if d.err != nil && !errors.As(d.err, &exit) {
		d.t.Fatal(d.err)
	}
	return d.cmd.ProcessState.ExitCode()
}

// drain stops the daemon by SIGTERM, checks that it ended well with its ledger at
// zero, and returns the ledger.
func (d *daemon) drain() logLine {
	d.t.Helper()
	d.signal(syscall.SIGTERM)
	if code := d.wait(); code != exitOK {
		d.t.Fatalf("exit code %d after SIGTERM; the log:\n%s", code, d.log())
	}
	return d.ledger()
}

// ledger returns the last line, which must be a ledger at zero.
func (d *daemon) ledger() logLine {
	d.t.Helper()
	d.mu.Lock()
	last := logLine{}
	if len(d.lines) > 0 {
		last = d.lines[len(d.lines)-1]
	}
	d.mu.Unlock()
	if last.message() != "ledger" {
		d.t.Fatalf("the last line is no ledger; the log:\n%s", d.log())
	}
	if pushed, back := last.number(d.t, "bursts_pushed"), last.number(d.t, "bursts_given_back"); pushed != back {
		d.t.Errorf("%d bursts pushed, %d given back", pushed, back)
	}
	gone := last.number(d.t, "connections_refused_at_the_limit")
	for key := range last {
		if strings.HasPrefix(key, "connections_closed_") {
			gone += last.number(d.t, key)
		}
	}
	if accepted := last.number(d.t, "connections_accepted"); accepted != gone {
		d.t.Errorf("%d connections were accepted, %d refused or closed", accepted, gone)
	}
	for _, key := range []string{"bursts_out", "connections", "udp_sockets", "memory_held_bytes"} {
		if n := last.number(d.t, key); n != 0 {
			d.t.Errorf("the ledger says %s = %d at the end, want 0", key, n)
		}
	}
	return last
}

// finish ends a test's daemon that still runs, as every test must be able to.
func (d *daemon) finish() {
	select {
	case <-d.ended:
	default:
		if d.t.Failed() {
			_ = d.cmd.Process.Kill() // it may have ended by itself meanwhile
			<-d.ended
		} else {
			d.drain()
		}
	}
	if d.t.Failed() {
		d.t.Logf("the log of darboux:\n%s", d.log())
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.raw) > 0 {
		d.t.Errorf("darboux wrote lines that are no log:\n%s", strings.Join(d.raw, "\n"))
	}
}
