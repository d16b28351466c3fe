package report

import (
	"bytes"
	"encoding/json"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"darboux/loadtest/measure"
	"darboux/loadtest/result"
)

func TestUnits(t *testing.T) {
	for _, test := range []struct{ got, want string }{
		{Duration(0), "0s"},
		{Duration(999), "999ns"},
		{Duration(1234), "1.23µs"},
		{Duration(12_345), "12.3µs"},
		{Duration(123_456), "123µs"},
		{Duration(999_999), "1ms"},
		{Duration(int64(1234 * time.Millisecond)), "1.23s"},
		{Duration(int64(61 * time.Second)), "1m1s"},
		{Rate(0), "0"},
		{Rate(12.345), "12.3"},
		{Rate(1_234_567.8), "1,234,568"},
		{Bytes(1536), "1.5 KiB"},
		{Bytes(-1), "0 B"},
		{Number(1_000_000), "1,000,000"},
		{maybe(nil, "%f"), "–"},
	} {
		if test.got != test.want {
			t.Errorf("%q, want %q", test.got, test.want)
		}
	}
}

// What is no result is told in words of its user: what it is, and where it goes wrong.
func TestReadJSONErrors(t *testing.T) {
	for content, want := range map[string]string{
		`{"schema": "darboux-load/1"`:      "is no result of --json: it ends at byte 27, in the middle",
		`{"schema": "darboux-load/1", x}`:  "is no result of --json: it is not JSON at byte 30",
		`5`:                                "is no result of --json: a number stands in place of a result",
		``:                                 "is no result of --json: it is empty",
		`{"schema": "darboux-load-udp/1"}`: `is a result of the form "darboux-load-udp/1"; only "darboux-load/1" can be shown`,
		`{}`:                               `is no result of --json: it has no schema`,
		`{"schema": "darboux-load/1", "rates": {"window_s": ""}}`: `is no result of --json: rates.window_s is a string`,
		`{"schema": "darboux-load/1", "started": "yesterday"}`:    `is no result of --json: "yesterday" is no time`,
		`[]`: "is no result of --json: its list is empty",
	} {
		path := filepath.Join(t.TempDir(), "x.json")
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := ReadJSON(path)
		if err == nil || !strings.HasPrefix(err.Error(), path+" ") || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "Go ") || strings.Contains(err.Error(), "json: cannot") || strings.Contains(err.Error(), "2006") {
			t.Errorf("%s: %v, want %s", content, err, want)
		}
	}
}

// The lists that compare and sweep write are read as their runs.
func TestReadJSONLines(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.json")
	runs := []*result.Document{{Schema: result.Schema, Label: "A 1"}, {Schema: result.Schema}}
	if err := WriteFile(path, func(w io.Writer) error { return JSONLines(w, runs) }); err != nil {
		t.Fatal(err)
	}
	got, err := ReadJSON(path)
	if err != nil || len(got) != 2 || got[0].Label != "A 1" || got[1].Label != path+" 2" {
		t.Errorf("%+v, %v", got, err)
	}
}

// A document with nothing in it is valid JSON, and every output takes it.
func TestAnEmptyDocument(t *testing.T) {
	d := &result.Document{Schema: result.Schema}
	path := filepath.Join(t.TempDir(), "run.json")
	if err := WriteFile(path, func(w io.Writer) error { return JSON(w, d) }); err != nil {
		t.Fatal(err)
	}
	if got, err := ReadJSON(path); err != nil || len(got) != 1 || got[0].Schema != result.Schema {
		t.Errorf("%+v, %v", got, err)
	}
	var b bytes.Buffer
	if err := Summary(&b, d); err != nil || !strings.Contains(b.String(), "no reply") {
		t.Errorf("%v\n%s", err, b.String())
	}
	page := Page{Title: "Nothing", Runs: []*result.Document{d, d}}
	if err := page.HTML(&b); err != nil {
		t.Error(err)
	}
}

func TestSummaryTellsEverything(t *testing.T) {
	took, half := 0.25, 0.5
	d := &result.Document{
		Label:    "this one",
		Settings: result.Settings{Scenario: "mixed", Loop: "open", Rate: 5000, Arrivals: "poisson", Connections: 3, Batch: 4, EventBytes: 185, QueryShare: 0.25},
		Rates:    result.Rates{Events: 2500, RequestedEvents: 5000, Achieved: &half, WindowS: 2},
		Ledger:   result.Ledger{Sent: 10, OK: 4, Rejected: 1, Timeout: 2, Reset: 3},
		Connects: result.Connects{Unasked: 7},
		Pacing:   &result.Pacing{Due: 10, Late: 5, MaxBacklog: 6},
		Latency:  result.Latency{OK: &result.Quantiles{P50: 1500}, Actual: &result.Quantiles{P50: 1100}, Failed: &result.Quantiles{P50: 9e9}},
		ServerCost: &result.ServerCost{
			Cores: 1.5, PerMEvents: &half,
		},
		Side:     &result.Side{Kind: "flood", Connections: 2, Requests: 77},
		Stop:     &result.Stop{AtS: 1, TookS: &took, Exit: "exit status 0", Accounted: true},
		Verify:   &result.Verify{Keys: 5, Absent: 1, Samples: []string{"load-1 service 2: absent"}, Error: "the connection broke"},
		Promises: []result.Promise{{Flag: "--expect-p99", Want: "1ms", Got: "2ms", Broken: true}},
		Errors:   []result.ErrorText{{Kind: "rejected", Text: "parse error", Count: 3}},
		Warnings: []string{"the client is slow"},
	}
	var b bytes.Buffer
	if err := Summary(&b, d); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"this one — mixed: open loop, 5,000 events/s (poisson) over 3 connections, 4 events a Msg of 185 B each, 25 % queries, 2 s",
		"of 5,000 requested", "50.00 %", "1.5µs", "1.1µs", "9s", "7 REPLIES TO NO REQUEST", "10 due, 5 late", "server: 1.50 cores, 0.5 CPU s",
		"flood × 2: 77 requests", "it ended after 0.25 s (exit status 0)", "verify FAILED: 5 entries", "load-1 service 2: absent", "the connection broke",
		"--expect-p99 1ms: BROKEN, it was 2ms", "error × 3: rejected: parse error", "WARNING: the client is slow",
	} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("the summary lacks %q:\n%s", want, b.String())
		}
	}
}

func TestHDRText(t *testing.T) {
	h := measure.NewHistogram()
	for i := range int64(1000) {
		h.Record((i+1)*1e6, 1)
	}
	var b bytes.Buffer
	if err := HDR(&b, h); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"Percentile", "500.171", "#[Max     =", "Total count    =         1000]"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("the text lacks %q:\n%s", want, b.String())
		}
	}
}

func TestHeat(t *testing.T) {
	cell := func(v float64) Cell { return Cell{Text: "x", Value: v} }
	for _, test := range []struct {
		more bool
		best int
		want []float64
	}{{true, 2, []float64{0, 0.5, 1, 0}}, {false, 0, []float64{1, 0.5, 0, 0}}} {
		h := Heat{Caption: "c", Axes: "a", Rows: []string{"r"}, Cols: []string{"1", "2", "3", "4"},
			Cells: [][]Cell{{cell(1), cell(10), cell(100), cell(math.NaN())}}}
		h.Grade(test.more)
		for i, c := range h.Cells[0] {
			if math.Abs(c.Shade-test.want[i]) > 1e-9 || c.Best != (i == test.best) {
				t.Errorf("more is better %v: cell %d: %+v", test.more, i, c)
			}
		}
		var b bytes.Buffer
		if err := h.Markdown(&b); err != nil || !strings.Contains(b.String(), "██ **x**") || !strings.Contains(b.String(), "| r |") {
			t.Errorf("%v\n%s", err, b.String())
		}
	}
	same := Heat{Cells: [][]Cell{{cell(5), cell(5)}}}
	same.Grade(true)
	if c := same.Cells[0][1]; c.Shade != 1 || !c.Best {
		t.Errorf("equal cells: %+v", c)
	}
}

// What a server or user wrote does not become part of the page's code.
func TestThePageEscapes(t *testing.T) {
	d := &result.Document{Label: `</script><script>alert("x")</script>`, Warnings: []string{"<img src=x>"}}
	var b bytes.Buffer
	page := Page{Title: "<b>", Runs: []*result.Document{d}}
	if err := page.HTML(&b); err != nil {
		t.Fatal(err)
	}
	for _, bad := range []string{`<script>alert`, "<img src=x>", "<h1><b>"} {
		if strings.Contains(b.String(), bad) {
			t.Errorf("the page contains %q", bad)
		}
	}
	if !strings.Contains(b.String(), "Leon Sorokin") || !strings.Contains(b.String(), "MIT License") {
		t.Error("the page lacks the licence of uPlot")
	}
}

func TestTableMarkdown(t *testing.T) {
	var b bytes.Buffer
	table := Table{Caption: "C", Head: []string{"a", "b"}, Rows: [][]string{{"1", "2"}}}
	if err := table.Markdown(&b); err != nil {
		t.Fatal(err)
	}
	if want := "### C\n\n| a | b |\n| --- | --- |\n| 1 | 2 |\n\n"; b.String() != want {
		t.Errorf("%q, want %q", b.String(), want)
	}
}

// The schema's names are in the JSON even when nothing was measured: readers
// find null, not a missing name.
func TestTheSchemaIsComplete(t *testing.T) {
	b, err := json.Marshal(result.Document{})
	if err != nil {
		t.Fatal(err)
	}
	var fields map[string]any
	if err := json.Unmarshal(b, &fields); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"schema", "command", "started", "client", "machine", "server", "settings", "rates", "ledger", "measured",
		"connections", "pacing", "latency", "spectrum", "series", "outstanding", "client_cost", "server_cost", "side", "stop", "verify",
		"promises", "errors", "warnings"} {
		if _, ok := fields[name]; !ok {
			t.Errorf("no %q", name)
		}
	}
}
