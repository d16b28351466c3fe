package main

import (
	"context"
	"flag"
	"fmt"
	"strings"
	"time"

	"darboux/loadtest/result"
)

// What stands in a sweep's server command for what is varied.
const (
	loopsMark    = "{loops}"
	handlersMark = "{handlers}"
)

// grid are the settings that a sweep combines.
type grid struct {
	loops, handlers, pipelines, batches []int
	rounds                              int
	out                                 string
}

// point is one combination, and what its runs gave.
type point struct {
	loops, handlers, pipeline, batch int
	runs                             []*result.Document
}

func (p *point) String() string {
	return fmt.Sprintf("loops %d, handlers %d, pipeline %d, batch %d", p.loops, p.handlers, p.pipeline, p.batch)
}

// sweep is the command sweep.
func sweep(ctx context.Context, args []string, to streams) (int, error) {
	const usage = `Usage: darboux-load sweep --start 'COMMAND' [--out NAME] [FLAGS]

Starts the server with each combination of loops, handlers, pipeline and batch,
in turns, and gives a table and heat maps with the best settings. In the command
{addr}, {loops} and {handlers} stand for what is filled in. --out NAME writes
NAME.md, NAME.json and NAME.html.`
	g := grid{loops: []int{1, 2}, handlers: []int{0, 1, 2}, pipelines: []int{1, 64}, batches: []int{1, 100}, rounds: 1}
	o := defaults()
	o.starts = true
	rest, err := o.parse("sweep", usage, args, to.out, func(fs *flag.FlagSet) {
		fs.StringVar(&o.start, "start", "", "`command` of the server, with {addr}, {loops} and {handlers}")
		g.register(fs)
	})
	if err != nil {
		return 0, err
	}
	if err := g.check(o, rest); err != nil {
		return 0, err
	}
	if err := checkOut(g.out); err != nil {
		return 0, err
	}
	points, err := g.run(ctx, o, to)
	if err != nil {
		return 0, err
	}
	return exitOK, writeResults(sweepPage(o.start, points), points, g.out, to)
}

func (g *grid) register(fs *flag.FlagSet) {
	fs.Var(numbers{&g.loops, 0, 1024}, "loops", "`numbers` of loops, with commas")
	fs.Var(numbers{&g.handlers, 0, 1024}, "handlers", "`numbers` of handlers, with commas")
	fs.Var(numbers{&g.pipelines, 1, 1 << 20}, "pipelines", "`numbers` of requests outstanding on a connection, with commas")
	fs.Var(numbers{&g.batches, 1, 100_000}, "batches", "`numbers` of events a Msg, with commas")
	fs.Var(bounded{&g.rounds, 1, 100}, "rounds", "`times` that all combinations are run")
	fs.StringVar(&g.out, "out", "", "write `NAME`.md, NAME.json and NAME.html")
}

func (g *grid) check(o *options, rest []string) error {
	switch {
	case len(rest) > 0:
		return usagef("sweep: %q is no flag", rest[0])
	case o.start == "":
		return usagef("sweep: needs --start")
	case o.rate > 0:
		return usagef("--rate: a sweep is of closed loops")
	case o.given["pipeline"] || o.given["batch"]:
		return usagef("sweep: takes lists, --pipelines and --batches")
	case len(g.loops) > 1 && !strings.Contains(o.start, loopsMark):
		return usagef("--loops: nothing in --start says where %s go", loopsMark)
	case len(g.handlers) > 1 && !strings.Contains(o.start, handlersMark):
		return usagef("--handlers: nothing in --start says where %s go", handlersMark)
	}
	return nil
}

// points are all combinations.
func (g *grid) points() []*point {
	var all []*point
	for _, loops := range g.loops {
		for _, handlers := range g.handlers {
			for _, pipeline := range g.pipelines {
				for _, batch := range g.batches {
					all = append(all, &point{loops: loops, handlers: handlers, pipeline: pipeline, batch: batch})
				}
			}
		}
	}
	return all
}

// run measures every combination once in each round, so that a change of the
// machine's mood meets them all.
func (g *grid) run(ctx context.Context, o *options, to streams) ([]*point, error) {
	points := g.points()
	for round := range g.rounds {
		for i, p := range points {
			one := *o
			one.pipeline, one.load.Batch, one.quiet = p.pipeline, p.batch, true
			one.label = p.String()
			one.start = strings.NewReplacer(loopsMark, fmt.Sprint(p.loops), handlersMark, fmt.Sprint(p.handlers)).Replace(o.start)
			m, err := measureOnce(ctx, &one, to.err)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", p, err)
			}
			p.runs = append(p.runs, m.Document)
			fmt.Fprintf(to.err, "round %d/%d, %d/%d: %s: %s\n", round+1, g.rounds, i+1, len(points), p, oneLine(m.Document))
			if ctx.Err() != nil {
				return nil, fmt.Errorf("interrupted")
			}
		}
	}
	return points, nil
}

// oneLine is a run in short.
func oneLine(d *result.Document) string {
	text := fmt.Sprintf("%.0f events/s", d.Rates.Events)
	if q := d.Latency.OK; q != nil {
		text += fmt.Sprintf(", p99 %s", time.Duration(q.P99).Round(time.Microsecond))
	}
	if s := d.ServerCost; s != nil && s.PerMEvents != nil {
		text += fmt.Sprintf(", %.3g CPU s per million events", *s.PerMEvents)
	}
	if failed := d.Measured.Failed(); failed > 0 {
		text += fmt.Sprintf(", %d FAILED", failed)
	}
	return text
}
