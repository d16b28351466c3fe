package main

import (
	"context"
	"flag"
	"fmt"

	"darboux/loadtest/report"
	"darboux/loadtest/result"
)

// mostPlotted bounds the runs whose plots are put side by side.
const mostPlotted = 6

// compare is the command compare.
func compare(ctx context.Context, args []string, to streams) (int, error) {
	const usage = `Usage: darboux-load compare [FLAGS] 'COMMAND A' 'COMMAND B'

Runs two servers under the same load in turns, A B A B, and prints the ratios
B / A with their spread over the rounds. {addr} in a command is where the server
shall listen. --out NAME writes NAME.md, NAME.json and NAME.html.`
	rounds, out := 3, ""
	o := defaults()
	o.starts = true
	servers, err := o.parse("compare", usage, args, to.out, func(fs *flag.FlagSet) {
		fs.Var(bounded{&rounds, 1, 100}, "rounds", "`times` that each server is run")
		fs.StringVar(&out, "out", "", "write `NAME`.md, NAME.json and NAME.html")
	})
	if err != nil {
		return 0, err
	}
	if len(servers) != 2 {
		return 0, usagef("compare: needs two server commands, got %d", len(servers))
	}
	if err := checkOut(out); err != nil {
		return 0, err
	}
	for _, server := range servers {
		one := *o
		one.start = server
		if err := one.checkTarget(); err != nil {
			return 0, err
		}
	}
	sides, err := inTurns(ctx, o, servers, rounds, to)
	if err != nil {
		return 0, err
	}
	return exitOK, writeResults(comparePage(servers, sides), sides, out, to)
}

// inTurns measures each server once in each round, so that a change of the machine's mood
// meets all of them.
func inTurns(ctx context.Context, o *options, servers []string, rounds int, to streams) ([]*point, error) {
	sides := []*point{{}, {}}
	for round := range rounds {
		for i, side := range sides {
			name := string(rune('A' + i))
			one := *o
			one.start, one.quiet, one.label = servers[i], true, fmt.Sprintf("%s %d", name, round+1)
			m, err := measureOnce(ctx, &one, to.err)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", name, err)
			}
			side.runs = append(side.runs, m.Document)
			fmt.Fprintf(to.err, "round %d/%d, %s: %s\n", round+1, rounds, name, oneLine(m.Document))
			if ctx.Err() != nil {
				return nil, fmt.Errorf("interrupted")
			}
		}
	}
	return sides, nil
}

// comparePage makes the table of ratios and takes along the plots of the first
// rounds.
func comparePage(servers []string, sides []*point) *report.Page {
	a, b := sides[0].runs, sides[1].runs
	page := &report.Page{Title: "Two servers in turns", Notes: origin()}
	page.Notes = append(page.Notes, "A: "+servers[0], "B: "+servers[1], "load: "+report.Title(unlabelled(a[0])))
	t := report.Table{
		Caption: fmt.Sprintf("%d rounds A B; medians, and the ratio of each round with its spread", len(a)),
		Head:    []string{"", "A", "B", "B / A", "least", "most"},
	}
	for _, f := range judged {
		r := spreadOf(ratios(&f, a, b))
		t.Rows = append(t.Rows, []string{f.name, f.show(f.over(a).median), f.show(f.over(b).median), ratioText(r.median), ratioText(r.low), ratioText(r.high)})
	}
	failures := []string{"failed requests"}
	for _, runs := range [][]*result.Document{a, b} {
		n := int64(0)
		for _, d := range runs {
			n += d.Measured.Failed()
		}
		failures = append(failures, report.Number(n))
	}
	t.Rows = append(t.Rows, append(failures, "", "", ""))
	page.Tables = []report.Table{t}
	for i := range a {
		if 2*(i+1) <= mostPlotted {
			page.Runs = append(page.Runs, a[i], b[i])
		}
	}
	return page
}

// ratios are B's to A's, round by round: what changes the machine changes both.
func ratios(f *figure, a, b []*result.Document) []float64 {
	var out []float64
	for i := range a {
		out = append(out, f.of(b[i])/f.of(a[i]))
	}
	return out
}

func ratioText(v float64) string { return (&figure{text: plainNumber}).show(v) }

func plainNumber(v float64) string { return fmt.Sprintf("%.3g", v) }

// unlabelled is d without its label.
func unlabelled(d *result.Document) *result.Document {
	bare := *d
	bare.Label = ""
	return &bare
}
