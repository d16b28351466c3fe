package main

import (
	"bytes"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"

	"darboux/loadtest/proc"
	"darboux/loadtest/report"
	"darboux/loadtest/result"
)

// The figures, by their place in judged, that a sweep looks for the best of.
const (
	byEvents = 0
	byP99    = 3
	byCPU    = 5
)

// sweepPage makes a sweep's table and heat maps.
func sweepPage(command string, points []*point) *report.Page {
	page := &report.Page{Title: "Sweep of loops, handlers, pipeline and batch", Notes: origin()}
	page.Notes = append(page.Notes, "server: "+command)
	best := report.Table{Caption: "Best settings", Head: []string{"for", "settings", "value"}}
	for _, n := range []int{byEvents, byP99, byCPU} {
		f := &judged[n]
		heat := heatOf(f, points)
		page.Heats = append(page.Heats, heat)
		if p := bestOf(f, points); p != nil {
			best.Rows = append(best.Rows, []string{f.name, p.String(), f.show(f.over(p.runs).median)})
		}
	}
	page.Tables = []report.Table{best, allPoints(points)}
	return page
}

// bestOf is the point with the best median, nil if none is known.
func bestOf(f *figure, points []*point) (best *point) {
	value := 0.0
	for _, p := range points {
		v := f.over(p.runs).median
		if math.IsNaN(v) {
			continue
		}
		if best == nil || f.moreIsBetter && v > value || !f.moreIsBetter && v < value {
			best, value = p, v
		}
	}
	return best
}

// heatOf has a row for each server setting and a column for each load.
func heatOf(f *figure, points []*point) report.Heat {
	h := report.Heat{Caption: f.name, Axes: "loops · handlers \\ pipeline × batch"}
	row, col := map[string]int{}, map[string]int{}
	for _, p := range points {
		r, c := fmt.Sprintf("%d · %d", p.loops, p.handlers), fmt.Sprintf("%d × %d", p.pipeline, p.batch)
		if _, known := row[r]; !known {
			row[r] = len(h.Rows)
			h.Rows = append(h.Rows, r)
			h.Cells = append(h.Cells, nil)
		}
		if _, known := col[c]; !known {
			col[c] = len(h.Cols)
			h.Cols = append(h.Cols, c)
		}
		v := f.over(p.runs).median
		h.Cells[row[r]] = append(h.Cells[row[r]], report.Cell{Text: f.show(v), Value: v})
	}
	h.Grade(f.moreIsBetter)
	return h
}

func allPoints(points []*point) report.Table {
	t := report.Table{Caption: "All combinations (medians of the rounds)", Head: []string{"loops", "handlers", "pipeline", "batch"}}
	for _, f := range judged {
		t.Head = append(t.Head, f.name)
	}
	for _, p := range points {
		row := []string{fmt.Sprint(p.loops), fmt.Sprint(p.handlers), fmt.Sprint(p.pipeline), fmt.Sprint(p.batch)}
		for _, f := range judged {
			row = append(row, f.show(f.over(p.runs).median))
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

// origin tells where results come from: command, commit and machine.
func origin() []string {
	m := proc.Machine()
	return []string{
		"command: " + shellWords(commandLine()),
		"commit: " + commit(),
		fmt.Sprintf("machine: %s, %d cores, %s memory, Linux %s", m.CPU, m.Cores, report.Bytes(float64(m.Memory)), m.Kernel),
	}
}

func commit() string {
	if c := build().Commit; c != "" {
		return c
	}
	return "unknown"
}

// shellWords writes arguments as one could type them.
func shellWords(args []string) string {
	var words []string
	for _, a := range args {
		if a == "" || strings.ContainsAny(a, " \t\n'\"\\${}()<>|&;*?[]#~`!") {
			a = "'" + strings.ReplaceAll(a, "'", `'\''`) + "'"
		}
		words = append(words, a)
	}
	return strings.Join(words, " ")
}

// markdown writes a page without its plots.
func markdown(page *report.Page, w io.Writer) error {
	var b bytes.Buffer
	fmt.Fprintf(&b, "# %s\n\n", page.Title)
	for _, note := range page.Notes {
		fmt.Fprintf(&b, "- %s\n", note)
	}
	b.WriteByte('\n')
	for _, h := range page.Heats {
		if err := h.Markdown(&b); err != nil {
			return err
		}
	}
	for _, t := range page.Tables {
		if err := t.Markdown(&b); err != nil {
			return err
		}
	}
	_, err := w.Write(b.Bytes())
	return err
}

// documents are all runs; if nobody plots them, without their many samples.
func documents(points []*point, bare bool) []*result.Document {
	var runs []*result.Document
	for _, p := range points {
		for _, d := range p.runs {
			if bare {
				one := *d
				one.Series, one.Outstanding, one.Spectrum = []result.Second{}, []result.Sample{}, []result.Point{}
				d = &one
			}
			runs = append(runs, d)
		}
	}
	return runs
}

// checkOut finds out before any run that the files of --out could not be written, and makes
// their folder.
func checkOut(name string) error {
	if name == "" {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return usagef("--out: %v", err)
	}
	for _, suffix := range []string{".md", ".json", ".html"} {
		if err := checkWritable(name + suffix); err != nil {
			return usagef("--out: %v", err)
		}
	}
	return nil
}

// writeResults shows a page as text, and writes NAME.md, NAME.json and
// NAME.html if a name is given.
func writeResults(page *report.Page, points []*point, name string, to streams) error {
	if err := markdown(page, to.out); err != nil {
		return err
	}
	if name == "" {
		return nil
	}
	for _, f := range []struct {
		suffix string
		write  func(io.Writer) error
	}{
		{".md", func(w io.Writer) error { return markdown(page, w) }},
		{".json", func(w io.Writer) error { return report.JSONLines(w, documents(points, len(page.Runs) == 0)) }},
		{".html", page.HTML},
	} {
		if err := report.WriteFile(name+f.suffix, f.write); err != nil {
			return err
		}
	}
	return nil
}
