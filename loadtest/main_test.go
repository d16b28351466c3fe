package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"darboux/loadtest/result"
)

// beCommand makes this test binary the program itself, so that tests have
// servers to start.
const beCommand = "DARBOUX_LOAD_TEST_COMMAND"

func TestMain(m *testing.M) {
	if os.Getenv(beCommand) != "" {
		os.Args[0] = "darboux-load"
		main()
	}
	os.Exit(m.Run())
}

// naiveServer is the command of a naive server. Under the race detector it would
// otherwise wait for a second at its end.
func naiveServer() string {
	return fmt.Sprintf("env GORACE=atexit_sleep_ms=0 %s=1 '%s' naive --tcp {addr}", beCommand, os.Args[0])
}

// call runs the program and returns its exit code and what it printed.
func call(t *testing.T, args ...string) (exit int, out, errors string) {
	t.Helper()
	return callIn(t, t.Context(), args...)
}

func callIn(t *testing.T, ctx context.Context, args ...string) (exit int, out, errors string) {
	t.Helper()
	var o, e bytes.Buffer
	exit = dispatch(ctx, args, streams{&o, &e})
	return exit, o.String(), e.String()
}

// readDocument reads JSON strictly: nothing unknown, nothing behind it.
func readDocument(t *testing.T, path string) *result.Document {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	decoder := json.NewDecoder(bytes.NewReader(b))
	decoder.DisallowUnknownFields()
	var d result.Document
	if err := decoder.Decode(&d); err != nil {
		t.Fatalf("%v in %s", err, b)
	}
	if decoder.More() || d.Schema != result.Schema {
		t.Fatalf("schema %q, more: %v", d.Schema, decoder.More())
	}
	return &d
}

// Every scenario runs unchanged against the naive server, with the queries that
// it knows, and loses no request.
func TestScenariosAgainstNaive(t *testing.T) {
	for _, s := range scenarios {
		t.Run(s.name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "run.json")
			exit, out, errors := call(t, "--scenario", s.name, "--start", naiveServer(), "--hosts", "10", "--services", "10",
				"--warmup", "100ms", "--duration", "600ms", "--timeout", "30s", "--json", file)
			if exit != exitOK {
				t.Fatalf("exit %d\n%s%s", exit, out, errors)
			}
			d := readDocument(t, file)
			l := &d.Ledger
			if !l.Balanced() || l.OK == 0 || l.Rejected+l.Malformed+l.Timeout+l.Missing > 0 || d.Connects.Unasked > 0 {
				t.Errorf("%+v, %+v", l, d.Connects)
			}
			if s.name != "drain" && l.Reset > 0 {
				t.Errorf("%d requests reset", l.Reset)
			}
			if d.Settings.Scenario != s.name || d.Latency.OK == nil || len(d.Series) == 0 || !strings.Contains(out, "events/s") {
				t.Errorf("%+v\n%s", d.Settings, out)
			}
			if d.ServerCost == nil && s.name != "drain" || d.ClientCost.CPUSeconds <= 0 {
				t.Errorf("server %+v, client %+v", d.ServerCost, d.ClientCost)
			}
			checkScenario(t, s.name, d)
		})
	}
}

func checkScenario(t *testing.T, name string, d *result.Document) {
	switch name {
	case "query", "big-reply":
		if d.Measured.Queries != d.Measured.Sent {
			t.Errorf("%+v", d.Measured)
		}
	case "mixed":
		if d.Latency.Queries == nil || d.Latency.Events == nil {
			t.Error("queries and events are not told apart")
		}
	case "churn", "half-close":
		if d.Connects.Opened <= 8 || d.Connects.EndedByServer > 0 {
			t.Errorf("%+v", d.Connects)
		}
	case "flood", "slow-reader", "one-slow-query":
		if d.Side == nil || d.Side.Requests == 0 {
			t.Errorf("%+v", d.Side)
		}
	case "drain":
		if s := d.Stop; s == nil || !s.Accounted || s.TookS == nil || s.Exit != "exit status 0" {
			t.Errorf("%+v", s)
		}
	}
}

func TestVerifyAgainstNaive(t *testing.T) {
	exit, out, errors := call(t, "--start", naiveServer(), "--verify", "--hosts", "20", "--services", "20", "--batch", "7",
		"--metric", "sint64+f", "--zipf", "1.3", "--warmup", "0s", "--duration", "300ms")
	if exit != exitOK || !strings.Contains(out, "verify passed") {
		t.Errorf("exit %d\n%s%s", exit, out, errors)
	}
}

func TestOpenLoopAgainstNaive(t *testing.T) {
	file := filepath.Join(t.TempDir(), "run.json")
	exit, out, errors := call(t, "--start", naiveServer(), "--rate", "2k", "--arrivals", "poisson", "--batch", "10",
		"--warmup", "200ms", "--duration", "800ms", "--json", file)
	// A busy machine may miss the rate: that is told, and is no failure here.
	if exit != exitOK && exit != exitRate {
		t.Fatalf("exit %d\n%s%s", exit, out, errors)
	}
	d := readDocument(t, file)
	if p := d.Pacing; p == nil || p.Due < 100 || p.Due > 230 || d.Latency.Actual == nil || d.Rates.RequestedEvents != 2000 {
		t.Errorf("%+v, %+v, %+v", p, d.Latency, d.Rates)
	}
	if !strings.Contains(out, "ok, intended start") || !strings.Contains(out, "ok, actual start") {
		t.Errorf("%s", out)
	}
}

// A rate that no server could take ends with the exit code that says so.
func TestAnUnachievedRateIsTold(t *testing.T) {
	exit, out, _ := call(t, "--start", naiveServer(), "--rate", "20M", "--outstanding", "1000", "--warmup", "0s", "--duration", "100ms")
	if exit != exitRate || !strings.Contains(out, "of 20,000,000 requested") {
		t.Errorf("exit %d\n%s", exit, out)
	}
}

func TestPromises(t *testing.T) {
	base := []string{"--start", naiveServer(), "--warmup", "0s", "--duration", "100ms"}
	for _, test := range []struct {
		args []string
		exit int
		text string
	}{
		{[]string{"--expect-p99", "10m", "--expect-rate", "1", "--expect-errors", "0"}, exitOK, "--expect-rate 1: kept"},
		{[]string{"--expect-p99", "1ns"}, exitBroken, "--expect-p99 1ns: BROKEN"},
		{[]string{"--expect-rate", "1G"}, exitBroken, "--expect-rate 1,000,000,000: BROKEN"},
		{[]string{"--query-share", "50%", "--query", "unknown", "--expect-errors", "1%"}, exitBroken, "--expect-errors 0.01: BROKEN"},
	} {
		exit, out, errors := call(t, append(slices.Clone(base), test.args...)...)
		if exit != test.exit || !strings.Contains(out, test.text) {
			t.Errorf("%v: exit %d, want %d and %q\n%s%s", test.args, exit, test.exit, test.text, out, errors)
		}
	}
}

// Nobody answers: nothing is measured, and the JSON is valid all the same.
func TestASilentServer(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	for _, loop := range [][]string{{"--pipeline", "3"}, {"--rate", "100"}} {
		file := filepath.Join(t.TempDir(), "run.json")
		args := append([]string{"--target", l.Addr().String(), "--warmup", "0s", "--duration", "1200ms", "--timeout", "300ms", "--json", file,
			"--html", file + ".html", "--hdr", file + ".hdr", "--expect-p99", "1s"}, loop...)
		exit, out, errors := call(t, args...)
		if exit != exitBroken || !strings.Contains(out, "no reply") {
			t.Errorf("exit %d\n%s%s", exit, out, errors)
		}
		d := readDocument(t, file)
		if d.Latency.OK != nil || d.Ledger.OK != 0 || d.Ledger.Timeout == 0 || !d.Ledger.Balanced() || d.ServerCost != nil {
			t.Errorf("%+v, %+v", d.Ledger, d.Latency)
		}
	}
}

func TestNobodyListens(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	l.Close()
	exit, out, _ := call(t, "--target", address, "--warmup", "0s", "--duration", "100ms")
	if exit != exitBroken || !strings.Contains(out, ": connect: connect: connection refused") {
		t.Errorf("exit %d\n%s", exit, out)
	}
}

// An interrupt ends a run early, with a summary of what there is.
func TestAnInterruptIsNoLoss(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	progress := &firstWrite{do: cancel}
	var out bytes.Buffer
	exit := dispatch(ctx, []string{"--start", naiveServer(), "--warmup", "0s", "--duration", "1h"}, streams{&out, progress})
	if exit != exitOK || !strings.Contains(out.String(), "events/s") {
		t.Errorf("exit %d\n%s", exit, out.String())
	}
}

// firstWrite does something when it is written to.
type firstWrite struct {
	bytes.Buffer
	do func()
}

func (w *firstWrite) Write(b []byte) (int, error) {
	w.do()
	return w.Buffer.Write(b)
}

func TestJSONAloneOnStandardOutput(t *testing.T) {
	exit, out, _ := call(t, "--start", naiveServer(), "--warmup", "0s", "--duration", "100ms", "--json", "-")
	var d result.Document
	if err := json.Unmarshal([]byte(out), &d); exit != exitOK || err != nil {
		t.Errorf("exit %d, %v\n%s", exit, err, out)
	}
}
