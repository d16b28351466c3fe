package main

import (
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"
)

// Two servers on one file would undo each other's snapshots: the second refuses to start,
// and starts once the first is gone, however it went.
func TestSnapshotFileOfTwoServers(t *testing.T) {
	file := snapshotFile(t)
	first := start(t, "--snapshot", file)
	code, _, stderr := runOnce(t, nil, "--tcp", "127.0.0.1:0", "--udp", "", "--http", "", "--snapshot", file)
	want := fmt.Sprintf("--snapshot: %s: it is in use by process %d, which has locked %s.lock", file, first.cmd.Process.Pid, file)
	if code != exitFailed || !strings.Contains(stderr, want) {
		t.Errorf("exit code %d, want %d; stderr, in which should be %q:\n%s", code, exitFailed, want, stderr)
	}
	keep(t, first.addr)
	first.drain()
	holdsKept(t, file)
}

func TestKilledServerLeavesItsSnapshotFile(t *testing.T) {
	file := snapshotFile(t)
	first := start(t, "--snapshot", file)
	first.signal(syscall.SIGKILL)
	first.wait()
	start(t, "--snapshot", file)
}

// Where no lock can be had the start says so, and goes on.
func TestNoLockForSnapshots(t *testing.T) {
	file := snapshotFile(t)
	if err := os.Mkdir(file+".lock", 0o700); err != nil {
		t.Fatal(err)
	}
	d := start(t, "--snapshot", file)
	d.await(func(l logLine) bool {
		return l.message() == "nothing keeps another server from the same snapshot" && strings.Contains(l.text("error"), "is a directory")
	})
	keep(t, d.addr)
	d.drain()
	holdsKept(t, file)
}
