package report

import (
	"embed"
	"fmt"
	"html/template"
	"io"
	"strings"

	"darboux/loadtest/result"
)

//go:embed page.html page.css page.js uplot
var files embed.FS

// Page is what stands on an HTML page.
type Page struct {
	Title  string
	Notes  []string // lines under the title
	Tables []Table
	Heats  []Heat
	Runs   []*result.Document // plotted side by side
}

// Table is a plain table; its first column names the rows.
type Table struct {
	Caption string
	Head    []string
	Rows    [][]string
}

// HTML writes the page: one file that loads nothing.
func (p *Page) HTML(w io.Writer) error {
	read := func(name string) (string, error) {
		b, err := files.ReadFile(name)
		return string(b), err
	}
	view := pageView{Page: p, Runs: plotsOf(p.Runs)}
	if len(p.Runs) > 0 {
		view.Tables = append(p.Tables[:len(p.Tables):len(p.Tables)], sideBySide(p.Runs))
	}
	style, err := read("page.css")
	if err != nil {
		return err
	}
	library, err := read("uplot/uPlot.min.css")
	if err != nil {
		return err
	}
	view.Style = template.CSS(library + style)
	for name, to := range map[string]*template.JS{"uplot/uPlot.iife.min.js": &view.Library, "page.js": &view.Script} {
		text, err := read(name)
		if err != nil {
			return err
		}
		*to = template.JS(text)
	}
	if view.License, err = read("uplot/LICENSE"); err != nil {
		return err
	}
	t, err := template.New("page.html").Funcs(template.FuncMap{"shade": shade}).ParseFS(files, "page.html")
	if err != nil {
		return err
	}
	return t.Execute(w, view)
}

// pageView is what the template sees.
type pageView struct {
	*Page
	Tables          []Table
	Runs            []plotted
	Style           template.CSS
	Library, Script template.JS
	License         string
}

// plotted is the part of a document that the page's script draws.
type plotted struct {
	Label       string          `json:"label"`
	Events      bool            `json:"events"` // else the rate is of requests
	Warmup      float64         `json:"warmup"`
	End         float64         `json:"end"` // of the window
	Series      []result.Second `json:"series"`
	Outstanding []result.Sample `json:"outstanding"`
	Spectrum    []result.Point  `json:"spectrum"`
}

func plotsOf(runs []*result.Document) []plotted {
	out := []plotted{}
	for i, d := range runs {
		out = append(out, plotted{
			Label: label(d, i), Events: d.Measured.Events > 0,
			Warmup: d.Settings.WarmupS, End: d.Settings.WarmupS + d.Rates.WindowS,
			Series: d.Series, Outstanding: d.Outstanding, Spectrum: d.Spectrum,
		})
	}
	return out
}

func label(d *result.Document, i int) string {
	if d.Label != "" {
		return d.Label
	}
	return fmt.Sprintf("run %d", i+1)
}

// sideBySide has a column for each run.
func sideBySide(runs []*result.Document) Table {
	t := Table{Caption: "Runs", Head: []string{""}}
	rows := [][]string{}
	for i, d := range runs {
		t.Head = append(t.Head, label(d, i))
		for j, f := range figures(d) {
			if i == 0 {
				rows = append(rows, []string{f[0]})
			}
			rows[j] = append(rows[j], f[1])
		}
	}
	t.Rows = rows
	return t
}

// figures are a run's, each with its name, in an order that all runs share.
func figures(d *result.Document) [][2]string {
	l, c := &d.Measured, &d.ClientCost
	out := [][2]string{
		{"what", Title(d)},
		{"events/s", Rate(d.Rates.Events)},
		{"Msgs/s", Rate(d.Rates.Msgs)},
		{"of the requested rate", maybePercent(d.Rates.Achieved)},
	}
	for _, q := range []struct {
		name string
		of   func(*result.Quantiles) int64
	}{
		{"p50", func(q *result.Quantiles) int64 { return q.P50 }},
		{"p90", func(q *result.Quantiles) int64 { return q.P90 }},
		{"p99", func(q *result.Quantiles) int64 { return q.P99 }},
		{"p99.9", func(q *result.Quantiles) int64 { return q.P999 }},
		{"p99.99", func(q *result.Quantiles) int64 { return q.P9999 }},
		{"max", func(q *result.Quantiles) int64 { return q.Max }},
	} {
		out = append(out, [2]string{q.name, quantile(d.Latency.OK, q.of)})
	}
	out = append(out,
		[2]string{"p99 from the actual start", quantile(d.Latency.Actual, func(q *result.Quantiles) int64 { return q.P99 })},
		[2]string{"requests", Number(l.Sent)},
		[2]string{"failed", fmt.Sprintf("%s (ok=false %s, malformed %s, timeout %s, reset %s, missing %s)", Number(l.Failed()),
			Number(l.Rejected), Number(l.Malformed), Number(l.Timeout), Number(l.Reset), Number(l.Missing))},
		[2]string{"client", fmt.Sprintf("%.2f cores, scheduling lag p99 %s", c.Cores, Duration(c.SchedLagP99))},
		[2]string{"server", serverFigures(d.ServerCost)},
		[2]string{"warnings", strings.Join(d.Warnings, "; ")},
		[2]string{"machine", fmt.Sprintf("%s, %d cores, Linux %s", d.Machine.CPU, d.Machine.Cores, d.Machine.Kernel)},
		[2]string{"commit", d.Client.Commit},
		[2]string{"command", strings.Join(d.Command, " ")},
	)
	return out
}

func quantile(q *result.Quantiles, of func(*result.Quantiles) int64) string {
	if q == nil {
		return "–"
	}
	return Duration(of(q))
}

func maybePercent(v *float64) string {
	if v == nil {
		return "–"
	}
	return fmt.Sprintf("%.2f %%", 100**v)
}

func serverFigures(s *result.ServerCost) string {
	if s == nil {
		return "–"
	}
	return fmt.Sprintf("%.2f cores, %s CPU s per million events, %s at most", s.Cores, maybe(s.PerMEvents, "%.3g"), Bytes(float64(s.PeakRSS)))
}
