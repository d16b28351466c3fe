package main

import (
	"bytes"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// These tests hold the daemon to going on whatever becomes of those who read its log.

// halt lets nobody read the log until the function it returns is called, once or more
// often, or the test is over.
func (d *daemon) halt() (goOn func()) {
	d.t.Helper()
	token := <-d.reading
	goOn = sync.OnceFunc(func() { d.reading <- token })
	d.t.Cleanup(goOn) // before the daemon's own, which waits for the log's end
	return goOn
}

// gone tells when the process has ended, though its log may not be at its end.
func gone(pid int) <-chan struct{} {
	ended := make(chan struct{})
	go func() {
		for unix.Waitid(unix.P_PID, pid, nil, unix.WEXITED|unix.WNOWAIT, nil) == unix.EINTR {
		}
		close(ended)
	}()
	return ended
}

// awaitGone waits for the end of a process whose log nobody reads.
func awaitGone(t *testing.T, pid int) {
	t.Helper()
	select {
	case <-gone(pid):
	case <-time.After(patience):
		t.Fatal("darboux does not end while nobody reads its log")
	}
}

// passTornLine passes over the last line of a log that was given up in the middle of it.
func (d *daemon) passTornLine() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.raw) == 1 && strings.HasPrefix(d.raw[0], `{"time":`) {
		d.raw = nil
	}
}

// A webAsker asks a daemon over HTTP; every answer must come.
type webAsker struct {
	t      *testing.T
	base   string
	client http.Client
	asked  int // requests with a number, which stands in the access log
	made   int // all requests
}

func newWebAsker(t *testing.T, base string) *webAsker {
	a := &webAsker{t: t, base: base, client: http.Client{Timeout: patience, Transport: &http.Transport{}}}
	t.Cleanup(a.client.CloseIdleConnections)
	return a
}

func (a *webAsker) get(target string) string {
	a.t.Helper()
	a.made++
	resp, err := a.client.Get(a.base + target)
	if err != nil {
		a.t.Fatal(err)
	}
	body := readBody(a.t, resp)
	if resp.StatusCode != http.StatusOK {
		a.t.Fatalf("%.100s: status %d, %s", target, resp.StatusCode, body)
	}
	return body
}

// ask makes a long line of the access log with the number of the request in it.
func (a *webAsker) ask() {
	a.t.Helper()
	a.asked++
	a.get(fmt.Sprintf("/healthz?n=%d&%s", a.asked, strings.Repeat("x", 8000)))
}

// number is a value of /metrics.
func (a *webAsker) number(name string) int64 {
	a.t.Helper()
	m := regexp.MustCompile(`(?m)^` + regexp.QuoteMeta(name) + ` (\S+)$`).FindStringSubmatch(a.get("/metrics"))
	if m == nil {
		a.t.Fatalf("/metrics has no %s", name)
	}
	n, err := strconv.ParseFloat(m[1], 64)
	if err != nil {
		a.t.Fatal(err)
	}
	return int64(n)
}

const lostForRoom = `darboux_log_lines_lost_total{cause="no room"}`

// fillLog makes lines until some are lost.
func (a *webAsker) fillLog() {
	a.t.Helper()
	for limit := newDeadline(a.t); a.number(lostForRoom) == 0; limit.check("no log line is lost") {
		for range 50 {
			a.ask()
		}
	}
}

// Whoever reads the log may stand still: all is served as before, and the end comes.
func TestLogReaderStandsStill(t *testing.T) {
	for _, handlers := range []string{"0", "2"} {
		t.Run("handlers="+handlers, func(t *testing.T) {
			d, base := startWebDaemon(t, "--http-access-log", "--log-memory", "1MiB", "--handlers", handlers)
			web := newWebAsker(t, base)
			goOn := d.halt()
			web.fillLog()
			for range 2 * reportBurst {
				c := dial(t, d.addr)
				c.write([]byte{0xff, 0xff, 0xff, 0xff}) // a frame that is refused and reported
				c.reply()
				c.done()
			}
			c := dial(t, d.addr)
			c.send(event("kept", 1))
			c.one(`service = "kept"`)
			c.done()
			if n, limit := web.number("darboux_log_memory_bytes"), web.number("darboux_log_memory_limit_bytes"); n > limit || limit != mib {
				t.Errorf("%d bytes of log lines wait, the limit is %d, want at most %d", n, limit, mib)
			}
			web.client.CloseIdleConnections()
			d.signal(syscall.SIGTERM)
			awaitGone(t, d.cmd.Process.Pid)
			goOn()
			code := d.wait()
			d.passTornLine()
			if code != exitOK {
				t.Errorf("exit code %d, want %d", code, exitOK)
			}
		})
	}
}

// What was lost is told where it is missing, and the lines around it keep their order.
func TestLogTellsWhatItLost(t *testing.T) {
	d, base := startWebDaemon(t, "--http-access-log", "--log-memory", "1MiB")
	web := newWebAsker(t, base)
	goOn := d.halt()
	web.fillLog()
	goOn()
	notice := d.await(message("log lines were lost"))
	if limit, flag := notice.number(t, "limit"), notice.text("flag"); limit != mib || flag != "--log-memory" {
		t.Errorf("the notice names the limit %d of %s, want %d of --log-memory", limit, flag, mib)
	}
	web.ask()
	web.client.CloseIdleConnections()
	d.drain()
	seen, lost, last := 0, int64(0), 0
	gap := false // a notice stands here
	for _, l := range d.lines {
		switch l.message() {
		case "log lines were lost":
			lost += l.number(t, "no_room")
			gap = true
		case "http":
			seen++
			var n int
			if _, err := fmt.Sscanf(l.text("target"), "/healthz?n=%d&", &n); err != nil {
				continue // of /metrics
			}
			if n <= last || n > last+1 && !gap {
				t.Errorf("line %d of the access log stands behind line %d; a notice stands between them: %v", n, last, gap)
			}
			last, gap = n, false
		}
	}
	if last != web.asked || seen+int(lost) != web.made {
		t.Errorf("%d lines and %d told as lost, the last one that of request %d; want %d, the last that of %d", seen, lost, last, web.made, web.asked)
	}
}

// A second signal ends the process at once although nobody reads that it does.
func TestSecondSignalWhileTheLogStandsStill(t *testing.T) {
	d, base := startWebDaemon(t, "--http-access-log", "--log-memory", "1MiB", "--drain-timeout", "1h", "--write-timeout", "1h")
	web := newWebAsker(t, base)
	stuck(dial(t, d.addr))
	goOn := d.halt()
	web.fillLog()
	d.signal(syscall.SIGTERM)
	ended, again, limit := gone(d.cmd.Process.Pid), time.NewTicker(20*time.Millisecond), newDeadline(t)
	defer again.Stop()
	for running := true; running; {
		limit.check("SIGINT again and again does not end it")
		select {
		case <-again.C:
			d.signal(syscall.SIGINT)
		case <-ended:
			running = false
		}
	}
	goOn()
	code := d.wait()
	d.passTornLine()
	if code != 128+int(syscall.SIGINT) {
		t.Errorf("exit code %d, want %d", code, 128+int(syscall.SIGINT))
	}
}

// A server that is started with a log that is full already serves and ends like any other.
func TestStartWithAFullLog(t *testing.T) {
	reader, writer, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	defer writer.Close()
	fillPipe(t, writer)
	file := snapshotFile(t)
	cmd := exec.Command(builtBinary(t), "--tcp", "127.0.0.1:0", "--udp", "", "--http", "", "--snapshot", file, "--snapshot-every", "100ms")
	cmd.Env, cmd.Stderr = []string{raceOptions}, writer
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = cmd.Process.Kill() // it may have ended
		_ = cmd.Wait()         // its exit code was looked at
	}()
	limit := newDeadline(t)
	for _, err := os.Stat(file); err != nil; _, err = os.Stat(file) {
		limit.check("no snapshot is written")
		time.Sleep(10 * time.Millisecond) // a poll, bounded by the deadline above
	}
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	awaitGone(t, cmd.Process.Pid)
	if err := cmd.Wait(); err != nil {
		t.Errorf("darboux ended with %v", err)
	}
}

// fillPipe writes to a pipe as much as it takes.
func fillPipe(t *testing.T, writer *os.File) {
	t.Helper()
	size, err := unix.FcntlInt(writer.Fd(), unix.F_GETPIPE_SZ, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := writer.Write(bytes.Repeat([]byte("\n"), size)); err != nil {
		t.Fatal(err)
	}
}
