package index

import (
	"bufio"
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"darboux/handlers/riemann"
)

var kills = flag.Int("kills", 10, "how often the process that writes snapshots is killed")

const (
	childVariable = "DARBOUX_TEST_SNAPSHOT"
	childEntries  = 3000
)

// writeForever writes one snapshot after the other, each with the next number in
// all entries, and tells when each is done.
func writeForever(path string) {
	x := New(Config{DefaultTTL: 60})
	snapshot := Snapshot{Path: path, limit: 64 << 10}
	for round := 0; ; round++ {
		for i := range childEntries {
			r := riemann.Record{Host: fmt.Sprint("h", i), State: fmt.Sprint(round), Description: strings.Repeat("d", 200)}
			var e riemann.Event
			if err := e.Parse(r.AppendEvent(nil)); err != nil {
				panic(err)
			}
			x.Apply([]riemann.Event{e}, feedMicros, make([]bool, 1))
		}
		if _, err := snapshot.Write(context.Background(), x); err != nil {
			panic(err)
		}
		fmt.Println(round)
	}
}

// Killed at any moment, a process leaves a whole snapshot behind: the last one
// that it finished, or the one after.
func TestSnapshotWriterKilled(t *testing.T) {
	path := filepath.Join(t.TempDir(), "index.snapshot")
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	for range *kills {
		last := runAndKill(t, path, time.Duration(random.IntN(50_000))*time.Microsecond)
		m := NewMap(Config{})
		snapshot := Snapshot{Path: path}
		if _, err := snapshot.Load(context.Background(), m, feedMicros); err != nil {
			t.Fatal(err)
		}
		of := map[string]int{}
		for _, field := range contents(m, matchAll{}, 0, 0) {
			of[string(viewed(t, wire(field))[0].StateBytes())]++
		}
		if of[strconv.Itoa(last)] != childEntries && of[strconv.Itoa(last+1)] != childEntries {
			t.Fatalf("number %d was done, but the snapshot has entries of %v", last, of)
		}
	}
}

// runAndKill starts the process, kills it that long after its first snapshot and
// returns the number of the last one that it told of.
func runAndKill(t *testing.T, path string, after time.Duration) int {
	child := exec.Command(os.Args[0])
	child.Env = append(os.Environ(), childVariable+"="+path)
	child.Stderr = os.Stderr
	out, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	last := -1
	for lines := bufio.NewScanner(out); lines.Scan(); {
		if last, err = strconv.Atoi(lines.Text()); err != nil {
			t.Fatal(err)
		}
		if last == 0 {
			time.AfterFunc(after, func() { _ = child.Process.Kill() }) // Wait says how it ended
		}
	}
	if err := child.Wait(); last < 0 || child.ProcessState.Exited() {
		t.Fatalf("the process was not killed, or before its first snapshot: %v", err)
	}
	return last
}
