package main

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"darboux/handlers/querylog"
)

func TestReporterLimitsEachKind(t *testing.T) {
	var out bytes.Buffer
	now := time.Unix(1000, 0)
	r := NewReporter(newLogger(&out, "info", "text"), func() time.Time { return now })
	for range 100 {
		r.Report("bad frame", "1.2.3.4:5", "no good")
	}
	if lines := strings.Count(out.String(), "\n"); lines != reportBurst {
		t.Errorf("100 reports at once gave %d lines, want %d", lines, reportBurst)
	}
	if got := r.Suppressed(); got != 100-reportBurst {
		t.Errorf("suppressed %d, want %d", got, 100-reportBurst)
	}
	out.Reset()
	r.Report("other", "1.2.3.4:5", "first of its kind")
	if !strings.Contains(out.String(), "suppressed=0") {
		t.Errorf("another kind was limited too: %q", out.String())
	}
	out.Reset()
	now = now.Add(reportEvery)
	r.Report("bad frame", "1.2.3.4:5", "again")
	if !strings.Contains(out.String(), "again") || !strings.Contains(out.String(), "suppressed=95") {
		t.Errorf("after a pause: %q, want the count of what was left out", out.String())
	}
	out.Reset()
	r.Report("bad frame", "1.2.3.4:5", "left out")
	r.Flush()
	r.Flush()
	if got := out.String(); strings.Count(got, "\n") != 1 || !strings.Contains(got, "suppressed=1") {
		t.Errorf("flushed %q, want one line with suppressed=1", got)
	}
}

// A client's bytes can neither break out of their line nor fill the disk.
func TestReporterTamesText(t *testing.T) {
	for _, format := range []string{"text", "json"} {
		var out bytes.Buffer
		r := NewReporter(newLogger(&out, "info", format), time.Now)
		r.Report("bad frame", "1.2.3.4:5", "a\nlevel=ERROR msg=forged\x1b[2J"+strings.Repeat("x", 2*reportText))
		got := out.String()
		if strings.Count(got, "\n") != 1 || strings.Contains(got, "\x1b") || len(got) > reportText+300 {
			t.Errorf("%s: %d bytes, %q", format, len(got), got[:min(len(got), 200)])
		}
	}
}

func TestReporterBoundsKinds(t *testing.T) {
	r := NewReporter(newLogger(&bytes.Buffer{}, "info", "text"), time.Now)
	defer func() {
		if text, _ := recover().(string); !strings.HasPrefix(text, "BUG: ") {
			t.Errorf("recovered %q, want a BUG panic", text)
		}
	}()
	for i := range reportKinds + 1 {
		r.Report(strings.Repeat("k", i+1), "", "")
	}
	t.Error("any number of kinds was taken")
}

// A line about a query has no more of its text than a report.
func TestQueryLinesAreClipped(t *testing.T) {
	var out bytes.Buffer
	trace := traceTo(newLogger(&out, "debug", "json"))
	trace(&querylog.Trace{Peer: "1.2.3.4:5", Query: strings.Repeat("x", 2*reportText)})
	if n := strings.Count(out.String(), "x"); n != reportText {
		t.Errorf("%d bytes of the query are logged, want %d", n, reportText)
	}
}
