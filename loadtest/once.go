package main

import (
	"context"
	"flag"
	"io"
	"strings"

	"darboux/loadtest/report"
	"darboux/loadtest/result"
)

// runOnce is the command run.
func runOnce(ctx context.Context, args []string, to streams) (int, error) {
	o := defaults()
	rest, err := o.parse("run", overview(), args, to.out, o.registerTarget)
	if err != nil {
		return 0, err
	}
	if len(rest) > 0 {
		return 0, usagef("%q: is no command and no flag", strings.Join(rest, " "))
	}
	if o.proto == "udp" {
		return runDatagrams(ctx, o, to)
	}
	m, err := measureOnce(ctx, o, to.err)
	if err != nil {
		return 0, err
	}
	summary := to.out
	if o.json == "-" {
		summary = to.err // standard output is the JSON's alone
	}
	if err := report.Summary(summary, m.Document); err != nil {
		return 0, err
	}
	if err := o.writeFiles(m, to.out); err != nil {
		return 0, err
	}
	return exitOf(m.Document), nil
}

// writeFiles writes what --json, --hdr and --html ask for.
func (o *options) writeFiles(m *measured, out io.Writer) error {
	page := report.Page{Title: "darboux-load: " + m.Settings.Scenario, Runs: []*result.Document{m.Document}}
	for _, f := range []struct {
		path  string
		write func(io.Writer) error
	}{
		{o.json, func(w io.Writer) error { return report.JSON(w, m.Document) }},
		{o.hdr, func(w io.Writer) error { return report.HDR(w, m.ok) }},
		{o.html, page.HTML},
	} {
		switch f.path {
		case "":
		case "-":
			if err := f.write(out); err != nil {
				return err
			}
		default:
			if err := report.WriteFile(f.path, f.write); err != nil {
				return err
			}
		}
	}
	return nil
}

// reportRuns is the command report: it puts documents on one page.
func reportRuns(_ context.Context, args []string, to streams) (int, error) {
	const usage = "Usage: darboux-load report --html FILE [--title TEXT] RUN.json...\n\nPuts runs side by side on one page, also those of compare and sweep. A run is known by its --label, or else by its file."
	var html, title string
	paths, err := parseSmall("report", usage, args, to.out, func(fs *flag.FlagSet) {
		fs.StringVar(&html, "html", "", "write the page to this `file`; - is standard output")
		fs.StringVar(&title, "title", "darboux-load", "the page's title, a `text`")
	})
	if err != nil {
		return 0, err
	}
	if html == "" || len(paths) == 0 {
		return 0, usagef("report: needs --html and at least one file of --json")
	}
	page := report.Page{Title: title}
	for _, path := range paths {
		runs, err := report.ReadJSON(path)
		if err != nil {
			return 0, err
		}
		page.Runs = append(page.Runs, runs...)
	}
	if html == "-" {
		return exitOK, page.HTML(to.out)
	}
	return exitOK, report.WriteFile(html, page.HTML)
}
