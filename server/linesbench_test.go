package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"darboux/handlers/riemann"
)

const (
	benchLines  = 2_000_000 // that are sent in a round
	benchRounds = 5         // in turns; the medians count
	benchBlock  = 10_000    // different lines, sent again and again
)

// BenchmarkLinesOverTCP measures the CPU time of a server process for a line of Graphite
// over one connection, beside Msgs of one event with the same content, each with its
// acknowledgement, and beside carbon-c-relay taking the same lines and dropping them; in
// turns, medians.
func BenchmarkLinesOverTCP(b *testing.B) {
	lines, msgs := benchBlocks()
	relay, err := exec.LookPath("carbon-c-relay")
	if err != nil {
		b.Log("LEFT OUT: carbon-c-relay is not installed")
	}
	cpu := map[string][]float64{}
	for range b.N {
		for range benchRounds {
			addresses, stop := startDarboux(b)
			cpu["line"] = append(cpu["line"], stop(func() { pour(b, addresses["--graphite tcp"], lines) }))
			addresses, stop = startDarboux(b)
			cpu["msg"] = append(cpu["msg"], stop(func() { pour(b, addresses["--tcp tcp"], msgs) }))
			if relay != "" {
				address, stop := startRelay(b, relay)
				cpu["relay-line"] = append(cpu["relay-line"], stop(func() { pour(b, address, lines) }))
			}
		}
	}
	for what, all := range cpu {
		slices.Sort(all)
		b.ReportMetric(all[len(all)/2], "cpu-ns/"+what)
	}
	b.ReportMetric(0, "ns/op") // of no meaning here
}

// benchBlocks are the same events as lines and as Msgs.
func benchBlocks() (lines, msgs []byte) {
	for i := range benchBlock {
		service, metric := fmt.Sprintf("servers.web%d.cpu.%d.percent-idle", i%100, i/100), float64(i)+0.25
		lines = fmt.Appendf(lines, "%s %v 1796036977\n", service, metric)
		r := riemann.Record{Set: riemann.HasTime | riemann.HasD, Service: service, Time: 1_796_036_977, D: metric}
		start := len(msgs)
		msgs = r.AppendField(riemann.BeginFrame(msgs))
		riemann.EndFrame(msgs, start)
	}
	return lines, msgs
}

// pour sends the block until all lines are sent, reads what is answered, and returns
// when the server has ended the stream: then it has worked all.
func pour(b *testing.B, address string, block []byte) {
	conn, err := net.Dial("tcp", address)
	if err != nil {
		b.Fatal(err)
	}
	defer conn.Close()
	answered := make(chan error, 1)
	go func() {
		_, err := io.Copy(io.Discard, conn)
		answered <- err
	}()
	for range benchLines / benchBlock {
		if _, err := conn.Write(block); err != nil {
			b.Fatal(err)
		}
	}
	if err := conn.(*net.TCPConn).CloseWrite(); err != nil {
		b.Fatal(err)
	}
	if err := <-answered; err != nil {
		b.Fatal(err)
	}
}

// startDarboux starts the daemon and returns its addresses and what measures it during a
// work, per line, and ends it.
func startDarboux(b *testing.B) (addresses map[string]string, stop func(work func()) float64) {
	path, err := plainBinary()
	if err != nil {
		b.Fatal(err)
	}
	cmd := exec.Command(path, "--tcp", "127.0.0.1:0", "--udp", "", "--http", "", "--graphite", "127.0.0.1:0", "--log-format", "json", "--self-events", "0", "--expire-every", "24h")
	stderr, err := cmd.StderrPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	addresses = map[string]string{}
	log := bufio.NewScanner(stderr)
	for log.Scan() {
		var l logLine
		if err := json.Unmarshal(log.Bytes(), &l); err != nil {
			b.Fatal(err)
		}
		addresses[l.text("flag")+" "+l.text("network")] = l.text("addr")
		if l.message() == "ready" {
			break
		}
	}
	go io.Copy(io.Discard, stderr) // until its end
	return addresses, func(work func()) float64 { return measure(b, cmd, work) }
}

// startRelay starts a carbon-c-relay that drops all it gets.
func startRelay(b *testing.B, program string) (address string, stop func(work func()) float64) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	address = l.Addr().String()
	l.Close() // a moment later the relay has it: its port can't be 0
	dir := b.TempDir()
	conf := filepath.Join(dir, "relay.conf")
	text := fmt.Sprintf("listen type linemode %s proto tcp;\nmatch * send to blackhole stop;\n", address)
	if err := os.WriteFile(conf, []byte(text), 0o600); err != nil {
		b.Fatal(err)
	}
	cmd := exec.Command(program, "-f", conf)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	for end := time.Now().Add(patience); ; time.Sleep(10 * time.Millisecond) {
		if c, err := net.Dial("tcp", address); err == nil {
			c.Close()
			break
		}
		if time.Now().After(end) {
			b.Fatalf("carbon-c-relay does not listen:\n%s", out.String())
		}
	}
	return address, func(work func()) float64 { return measure(b, cmd, work) }
}

// measure returns the CPU nanoseconds that a process uses for each line of a work, and
// ends the process.
func measure(b *testing.B, cmd *exec.Cmd, work func()) float64 {
	before := cpuOf(b, cmd.Process.Pid)
	work()
	used := cpuOf(b, cmd.Process.Pid) - before
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		b.Fatal(err)
	}
	_ = cmd.Wait() // how it ends is not what is measured
	return float64(used.Nanoseconds()) / benchLines
}

// cpuOf is the CPU time of a process so far (proc_pid_stat(5)), in hundredths of a second.
func cpuOf(b *testing.B, pid int) time.Duration {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		b.Fatal(err)
	}
	fields := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
	user, err := strconv.Atoi(fields[11])
	if err != nil {
		b.Fatal(err)
	}
	system, err := strconv.Atoi(fields[12])
	if err != nil {
		b.Fatal(err)
	}
	return time.Duration(user+system) * 10 * time.Millisecond
}
