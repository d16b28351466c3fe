package main

import (
	"bufio"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

// A second signal ends the process at once, whatever the drain waits for, but not one
// that comes together with the first.
func TestSecondSignalEndsAtOnce(t *testing.T) {
	d := start(t, "--drain-timeout", "1h", "--write-timeout", "1h")
	stuck(dial(t, d.addr))
	begin := time.Now()
	d.signal(syscall.SIGTERM)
	d.await(func(l logLine) bool { return l.message() == "draining" })
	again := time.NewTicker(20 * time.Millisecond)
	defer again.Stop()
	limit := newDeadline(t)
	for running := true; running; {
		limit.check("SIGINT again and again does not end it")
		select {
		case <-again.C:
			_ = d.cmd.Process.Signal(syscall.SIGINT) // it may have ended just now
		case <-d.ended:
			running = false
		}
	}
	if code := d.wait(); code != 128+int(syscall.SIGINT) {
		t.Errorf("exit code %d, want %d", code, 128+int(syscall.SIGINT))
	}
	if took := time.Since(begin); took < sameRequest {
		t.Errorf("ended %v after the first signal; those within %v are the same request", took, sameRequest)
	}
}

func TestSignalsTogetherAreOneRequest(t *testing.T) {
	for _, tc := range []struct {
		after []time.Duration // the first signal, one after the other
		want  time.Duration   // when one of them counts
	}{
		{[]time.Duration{0, time.Second}, time.Second},
		{[]time.Duration{time.Microsecond, 999 * time.Millisecond, 5 * time.Second}, 5 * time.Second},
		{[]time.Duration{time.Hour}, time.Hour},
	} {
		synctest.Test(t, func(t *testing.T) {
			signals, first := make(chan os.Signal), time.Now()
			go func() {
				for _, after := range tc.after {
					time.Sleep(time.Until(first.Add(after)))
					signals <- syscall.SIGTERM
				}
			}()
			secondSignal(signals)
			if got := time.Since(first); got != tc.want {
				t.Errorf("signals after %v: one counts after %v, want %v", tc.after, got, tc.want)
			}
		})
	}
}

// timeout(1) sends SIGTERM to its child and at once again to the child's group.
func TestSignalsTogetherDrain(t *testing.T) {
	for range 3 {
		file := snapshotFile(t)
		d := start(t, "--snapshot", file)
		keep(t, d.addr)
		d.signal(syscall.SIGTERM)
		_ = d.cmd.Process.Signal(syscall.SIGTERM) // it may have ended by the first
		if code := d.wait(); code != exitOK {
			t.Fatalf("exit code %d after two SIGTERMs at once; the log:\n%s", code, d.log())
		}
		holdsKept(t, file)
	}
}

// keep sends the event of service kept, and leaves.
func keep(t *testing.T, addr string) {
	t.Helper()
	c := dial(t, addr)
	c.send(event("kept", 1))
	c.done()
}

// holdsKept checks that the event of service kept is in a snapshot.
func holdsKept(t *testing.T, file string) {
	t.Helper()
	c := dial(t, start(t, "--snapshot", file).addr)
	defer c.done()
	if found := c.query(`service = "kept"`); len(found) != 1 {
		t.Errorf("%d events are in the snapshot, want 1", len(found))
	}
}

// A terminal that is closed sends SIGHUP.
func TestHangupDrains(t *testing.T) {
	heard := make(chan os.Signal, 1)
	signal.Notify(heard, syscall.SIGHUP) // so that the daemon has it, even if the tests run under nohup
	defer signal.Stop(heard)
	file := snapshotFile(t)
	d := start(t, "--snapshot", file)
	keep(t, d.addr)
	d.signal(syscall.SIGHUP)
	if code := d.wait(); code != exitOK {
		t.Errorf("exit code %d after SIGHUP, want %d", code, exitOK)
	}
	d.ledger()
	holdsKept(t, file)
}

func TestNohupOutlivesHangup(t *testing.T) {
	d := startCommand(t, builtBinary(t), nil, func(cmd *exec.Cmd) {
		cmd.Args = append([]string{"nohup"}, cmd.Args...)
		cmd.Path = strings.TrimSpace(do(t, "", "sh", "-c", "command -v nohup"))
	})
	d.signal(syscall.SIGHUP)
	dial(t, d.addr).send(event("served", 1))
	d.drain()
	if l := d.await(func(l logLine) bool { return l.message() == "draining" }); l.text("signal") != syscall.SIGTERM.String() {
		t.Errorf("drained because of %s", l.text("signal"))
	}
}

// At Ctrl-C of `darboux 2>&1 | tee log`, tee is gone first.
func TestLogWithoutReader(t *testing.T) {
	file := snapshotFile(t)
	reader, writer, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(builtBinary(t), "--tcp", "127.0.0.1:0", "--udp", "", "--http", "", "--snapshot", file)
	cmd.Env = []string{raceOptions}
	cmd.Stdout, cmd.Stderr = writer, writer
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	writer.Close()
	addr := addressInLog(t, reader)
	reader.Close()
	c := dial(t, addr)
	c.send(event("kept", 1))
	c.write([]byte{0xff, 0xff, 0xff, 0xff}) // a frame that is refused and reported
	if _, err := c.frame(); err != nil {
		t.Errorf("no error for a frame over the limit: %v", err)
	}
	if err := cmd.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	select {
	case err = <-ended:
	case <-time.After(patience):
		_ = cmd.Process.Kill() // it may have ended just now
		err = <-ended
	}
	if err != nil {
		t.Fatalf("darboux ended with %v, want a drain", err)
	}
	holdsKept(t, file)
}

// addressInLog reads a log of text until ready, and returns the first address served.
func addressInLog(t *testing.T, log io.Reader) string {
	t.Helper()
	addr := ""
	for lines := bufio.NewScanner(log); lines.Scan(); {
		if _, rest, ok := strings.Cut(lines.Text(), " addr="); ok && addr == "" {
			addr, _, _ = strings.Cut(rest, " ")
		}
		if strings.Contains(lines.Text(), "msg=ready") {
			return addr
		}
	}
	t.Fatal("the log ends before the daemon is ready")
	return ""
}
