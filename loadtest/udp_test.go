package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A run of datagrams against the sink: all are accounted for, in line and JSON alike.
func TestDatagramRun(t *testing.T) {
	file := filepath.Join(t.TempDir(), "run.json")
	sink := strings.Replace(naiveServer(), "naive --tcp", "sink --listen", 1)
	exit, out, errors := call(t, "--proto", "udp", "--rate", "5k", "--duration", "300ms", "--event-size", "197",
		"--label", "l", "--json", file, "--start", sink)
	if exit != exitOK && exit != exitRate { // a slow machine may not reach the rate
		t.Fatalf("exit code %d; %s%s", exit, out, errors)
	}
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var d datagramRun
	if err := json.Unmarshal(b, &d); err != nil {
		t.Fatal(err)
	}
	if d.Sent == 0 || d.Due != 1500 || d.Bytes != 200 || d.Received == 0 || d.Unaccounted != 0 ||
		d.Received+d.DroppedBySocket+d.DroppedByDevice != d.Sent || d.Label != "l" {
		t.Errorf("got %+v", d)
	}
	if !strings.HasPrefix(out, "l: ") || !strings.Contains(out, "unaccounted 0") {
		t.Errorf("the line is %q", out)
	}
}

// Nothing received, a datagram unaccounted for, and less than the rate are failures.
func TestDatagramExits(t *testing.T) {
	for _, row := range []struct {
		run  datagramRun
		want int
	}{
		{datagramRun{Due: 1000, Sent: 1000, Received: 990, DroppedBySocket: 10}, exitOK},
		{datagramRun{Due: 1000, Sent: 1000, DroppedBySocket: 1000}, exitBroken},
		{datagramRun{Due: 1000, Sent: 1000, Received: 999, Unaccounted: 1}, exitBroken},
		{datagramRun{Due: 1000, Sent: 900, Received: 900}, exitRate},
	} {
		if got := row.run.exit(); got != row.want {
			t.Errorf("%+v: exit code %d, want %d", row.run, got, row.want)
		}
	}
}
