//go:build long && !race

package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// These tests take minutes: `make long` runs them and writes what they find to
// docs/results/.

// A thousand clients flood for a minute and read nothing.
func TestLongFlood(t *testing.T) {
	var table strings.Builder
	table.WriteString("| flooding clients | s | most resident, MiB | said at the start with the index, MiB | requests of the bystander, all answered | slowest, ms | pauses | reads while paused |\n| --- | --- | --- | --- | --- | --- | --- | --- |\n")
	for _, flooders := range []int{1, 200, 1000} {
		const long = time.Minute
		f := floodedBy(t, flooders, long)
		fmt.Fprintf(&table, "| %d | %.0f | %.1f | %.1f | %d | %.1f | %d | 0 |\n", flooders, long.Seconds(), inMiB(f.peak), inMiB(f.bound),
			f.answered, float64(f.slowest.Microseconds())/1000, f.pauses)
	}
	finding{
		file: "flooders.md", title: "Clients that flood and never read", command: "make long-flood",
		text: "Each of them sends queries for an event of 60 kB as fast as it can and reads no reply, all on one loop, with timeouts off. " +
			"A bystander on the same loop sends one event after the other. The daemon runs with `" + strings.Join(smallMemory, " ") + "`. " +
			"What it says at the start is the sum of the terms in [LIMITS](../LIMITS.md), here with what the index held in place of what it may; the program's own pages may stand beside it.\n\n" + table.String(),
	}.write(t)
}

func inMiB(n int64) float64 { return float64(n) / float64(mib) }

// Killed a hundred times in the middle of snapshots, the daemon always leaves a whole one.
func TestLongKills(t *testing.T) {
	const kills = 100
	partial := killedInSnapshots(t, kills)
	finding{
		file: "kills.md", title: "Killed in the middle of a snapshot", command: "make long-kills",
		text: fmt.Sprintf("A daemon with 500 events of 2 kB, and a client that changes others all the while, is asked for a snapshot by SIGUSR1 and killed by SIGKILL at a random moment within 30 ms; "+
			"the next one starts with what it left.\n\n| kills | of them before the snapshot was renamed to its place | starts that found a whole snapshot with all events |\n| --- | --- | --- |\n| %d | %d | %d |\n", kills, partial, kills),
	}.write(t)
}

// A snapshot of a million entries while events come in as fast as they can: it is whole,
// and the start after it loads it.
func TestLongSnapshot(t *testing.T) {
	const rounds = 5
	file := snapshotFile(t)
	d := start(t, "--snapshot", file, "--snapshot-every", "0")
	load := func(flags ...string) float64 { return loadRate(t, d, flags...) }
	load("--fill", "--duration", "1s")
	var without, during, ratios []float64
	for range rounds {
		a := load("--duration", "5s")
		stop := d.snapshotsAllTheWhile()
		b := load("--duration", "5s")
		stop()
		without, during, ratios = append(without, a), append(during, b), append(ratios, b/a)
	}
	d.signal(syscall.SIGTERM)
	if code := d.wait(); code != exitOK {
		t.Fatalf("exit code %d", code)
	}
	written := d.lastLine("snapshot written")
	again := start(t, "--snapshot", file, "--snapshot-every", "0")
	loaded := again.lastLine("snapshot loaded")
	if n, want := loaded.number(t, "events"), written.number(t, "events"); n != want || n < 1_000_000 {
		t.Errorf("%d events were loaded of %d", n, want)
	}
	finding{
		file: "snapshot.md", title: "A snapshot of a million entries during ingestion", command: "make long-snapshot",
		text: fmt.Sprintf("darboux-load sends events of 185 bytes for 1,000,000 keys, 8 connections, 64 Msgs of 100 events outstanding on each; %d times for 5 s without a snapshot, and in turns for 5 s while one snapshot follows the other. "+
			"Client and daemon share the machine. Medians, and the least and the greatest.\n\n"+
			"| | median | from | to |\n| --- | --- | --- | --- |\n%s%s%s\n"+
			"The last snapshot: %d events, %.1f MiB, written in %.0f ms at the end; loaded by the next start in %.0f ms.\n",
			rounds, row("events/s without", 1, without), row("events/s during snapshots", 1, during), row("ratio in turns", 0.001, ratios),
			written.number(t, "events"), inMiB(written.number(t, "bytes")), 1000*written.seconds(t, "took"), 1000*loaded.seconds(t, "took")),
	}.write(t)
}

// row is a row of a table: the median of numbers, the least and the greatest.
func row(name string, unit float64, numbers []float64) string {
	slices.Sort(numbers)
	form := "| %s | %.0f | %.0f | %.0f |\n"
	if unit < 1 {
		form = "| %s | %.2f | %.2f | %.2f |\n"
	}
	return fmt.Sprintf(form, name, numbers[len(numbers)/2], numbers[0], numbers[len(numbers)-1])
}

// loadRate lets darboux-load send events for a million keys, and returns how many were
// acknowledged a second.
func loadRate(t *testing.T, d *daemon, flags ...string) float64 {
	t.Helper()
	report := filepath.Join(t.TempDir(), "load.json")
	args := append([]string{"--target", d.addr, "--hosts", "1000", "--services", "1000", "--batch", "100", "--ttl", "1h",
		"--warmup", "0s", "--quiet", "--json", report}, flags...)
	if out, err := exec.Command(loadClient(t), args...).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	b, err := os.ReadFile(report)
	if err != nil {
		t.Fatal(err)
	}
	var result struct {
		Rates struct {
			Events float64 `json:"events_per_s"`
		}
	}
	if err := json.Unmarshal(b, &result); err != nil || result.Rates.Events == 0 {
		t.Fatalf("%v in %s", err, b)
	}
	return result.Rates.Events
}

// snapshotsAllTheWhile asks for one snapshot after the other until it is stopped.
func (d *daemon) snapshotsAllTheWhile() (stop func()) {
	var over atomic.Bool
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for n := d.count("snapshot written"); !over.Load(); n++ {
			if d.cmd.Process.Signal(syscall.SIGUSR1) != nil {
				return
			}
			for limit := newDeadline(d.t); d.count("snapshot written") == n; time.Sleep(time.Millisecond) { // a poll, bounded
				limit.check("no snapshot is written")
			}
		}
	}()
	return func() {
		over.Store(true)
		<-ended
	}
}

// count returns how many lines of the log say this.
func (d *daemon) count(text string) int {
	d.mu.Lock()
	defer d.mu.Unlock()
	n := 0
	for _, l := range d.lines {
		if l.message() == text {
			n++
		}
	}
	return n
}

// lastLine returns the last line of the log that says this.
func (d *daemon) lastLine(text string) logLine {
	d.t.Helper()
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, l := range slices.Backward(d.lines) {
		if l.message() == text {
			return l
		}
	}
	d.t.Fatalf("no line of the log says %q", text)
	return nil
}
