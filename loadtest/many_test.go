package main

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"darboux/loadtest/result"
)

// written reads what --out wrote: the page's table, the documents, the page.
func written(t *testing.T, name string) (markdown string, runs []result.Document, page string) {
	t.Helper()
	read := func(suffix string) []byte {
		b, err := os.ReadFile(name + suffix)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	if err := json.Unmarshal(read(".json"), &runs); err != nil {
		t.Fatal(err)
	}
	return string(read(".md")), runs, string(read(".html"))
}

func TestCompare(t *testing.T) {
	name := filepath.Join(t.TempDir(), "compare")
	exit, out, errors := call(t, "compare", "--rounds", "2", "--warmup", "50ms", "--duration", "150ms", "--out", name, naiveServer(), naiveServer())
	if exit != exitOK {
		t.Fatalf("exit %d\n%s%s", exit, out, errors)
	}
	markdown, runs, page := written(t, name)
	var order []string
	for _, d := range runs {
		order = append(order, d.Label)
		if d.Ledger.OK == 0 || d.ServerCost == nil {
			t.Errorf("%s: %+v", d.Label, d.Ledger)
		}
	}
	if strings.Join(order, " ") != "A 1 A 2 B 1 B 2" || strings.Index(errors, "round 1/2, B") > strings.Index(errors, "round 2/2, A") {
		t.Errorf("runs %v\n%s", order, errors)
	}
	for _, want := range []string{"- command: ", "- commit: ", "- machine: ", "| events/s |", "| B / A | least | most |", "| failed requests | 0 | 0 |"} {
		if !strings.Contains(markdown, want) || !strings.Contains(out, want) {
			t.Errorf("the table lacks %q:\n%s", want, markdown)
		}
	}
	if !strings.Contains(page, "<table>") || strings.Contains(markdown, "NaN") {
		t.Errorf("page of %d bytes\n%s", len(page), markdown)
	}
}

func TestSweep(t *testing.T) {
	name := filepath.Join(t.TempDir(), "sweep")
	exit, out, errors := call(t, "sweep", "--start", "env LOOPS={loops} "+naiveServer(), "--loops", "1,2", "--handlers", "0",
		"--pipelines", "1,8", "--batches", "2", "--warmup", "20ms", "--duration", "80ms", "--connections", "2", "--out", name)
	if exit != exitOK {
		t.Fatalf("exit %d\n%s%s", exit, out, errors)
	}
	markdown, runs, page := written(t, name)
	if len(runs) != 4 || runs[2].Server.Command == "" || !strings.Contains(runs[2].Server.Command, "LOOPS=2") {
		t.Errorf("%d runs, the third of %q", len(runs), runs[2].Server.Command)
	}
	for _, want := range []string{"- command: ", "- machine: ", "### events/s", "### p99", "### server CPU s per million events", "| 2 · 0 |", "| 8 × 2 |", "### Best settings", "██ **"} {
		if !strings.Contains(markdown, want) {
			t.Errorf("the results lack %q:\n%s", want, markdown)
		}
	}
	if !strings.Contains(page, `class="best"`) || !strings.Contains(page, `class="heat"`) {
		t.Error("the page has no heat map")
	}
}

func TestReportPutsRunsSideBySide(t *testing.T) {
	dir := t.TempDir()
	a, b, page := filepath.Join(dir, "a.json"), filepath.Join(dir, "b.json"), filepath.Join(dir, "page.html")
	for path, label := range map[string]string{a: "one", b: ""} {
		if exit, _, errors := call(t, "--start", naiveServer(), "--warmup", "0s", "--duration", "100ms", "--json", path, "--label", label); exit != exitOK {
			t.Fatal(errors)
		}
	}
	if exit, _, errors := call(t, "report", a, "--html", page, b, "--title", "Both"); exit != exitOK {
		t.Fatal(errors)
	}
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"<th>one</th>", "b.json</th>", "<h1>Both</h1>"} {
		if !strings.Contains(string(text), want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	if err := os.WriteFile(b, []byte(`{"schema": "other/1"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if exit, _, errors := call(t, "report", "--html", page, b); exit != exitBroken || !strings.Contains(errors, `a result of the form "other/1"`) {
		t.Errorf("exit %d, %s", exit, errors)
	}
}

func TestSpread(t *testing.T) {
	nan := math.NaN()
	for _, test := range []struct {
		values []float64
		want   spread
	}{
		{[]float64{3, 1, 2}, spread{2, 1, 3}},
		{[]float64{4, 1, 2, 3}, spread{2.5, 1, 4}},
		{[]float64{nan, 5}, spread{5, 5, 5}},
	} {
		if got := spreadOf(test.values); got != test.want {
			t.Errorf("%v: %v, want %v", test.values, got, test.want)
		}
	}
	if got := spreadOf([]float64{nan}); !math.IsNaN(got.median) {
		t.Errorf("of nothing known: %v", got)
	}
}

func TestBestOf(t *testing.T) {
	with := func(events float64, p99 int64) *point {
		d := &result.Document{Rates: result.Rates{Events: events}}
		if p99 > 0 {
			d.Latency.OK = &result.Quantiles{P99: p99}
		}
		return &point{runs: []*result.Document{d}}
	}
	fast, quick, silent := with(9, 500), with(3, 100), with(0, 0)
	points := []*point{silent, fast, quick}
	if got := bestOf(&judged[byEvents], points); got != fast {
		t.Errorf("most events: %+v", got)
	}
	if got := bestOf(&judged[byP99], points); got != quick {
		t.Errorf("least p99: %+v", got)
	}
	if got := bestOf(&judged[byCPU], points); got != nil {
		t.Errorf("least of an unknown CPU: %+v", got)
	}
}

func TestExitCodes(t *testing.T) {
	achieved := func(v float64) *float64 { return &v }
	for name, test := range map[string]struct {
		d    result.Document
		want int
	}{
		"well":         {result.Document{Ledger: result.Ledger{OK: 1}, Rates: result.Rates{Achieved: achieved(0.995)}}, exitOK},
		"slow":         {result.Document{Ledger: result.Ledger{OK: 1}, Rates: result.Rates{Achieved: achieved(0.98)}}, exitRate},
		"no reply":     {result.Document{}, exitBroken},
		"unverified":   {result.Document{Ledger: result.Ledger{OK: 1}, Verify: &result.Verify{}}, exitBroken},
		"broken first": {result.Document{Ledger: result.Ledger{OK: 1}, Rates: result.Rates{Achieved: achieved(0.5)}, Promises: []result.Promise{{}, {Broken: true}}}, exitBroken},
	} {
		if got := exitOf(&test.d); got != test.want {
			t.Errorf("%s: exit %d, want %d", name, got, test.want)
		}
	}
}
