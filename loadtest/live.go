package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"darboux/loadtest/report"
	"darboux/loadtest/result"

	"golang.org/x/term"
)

// shortest is the interval, in s, that is worth a line: the last ones drain.
const shortest = 0.1

// barWidth is that of the progress bar, in characters.
const barWidth = 20

// live shows each second as it passes: on a terminal one line that changes,
// elsewhere a line a second.
type live struct {
	w        io.Writer // nil: nothing is shown
	terminal bool
	warmup   time.Duration
	total    time.Duration
	queries  bool
	shown    bool
}

func newLive(w io.Writer, o *options) *live {
	l := &live{w: w, warmup: o.warmup, total: o.warmup + o.duration, queries: o.load.QueryShare == 1}
	if o.quiet {
		l.w = nil
	}
	if f, ok := w.(*os.File); ok {
		l.terminal = term.IsTerminal(int(f.Fd()))
	}
	return l
}

func (l *live) second(s *result.Second) {
	if l.w == nil || s.Length < shortest {
		return
	}
	text := l.line(s)
	if l.terminal {
		fmt.Fprintf(l.w, "\r%s %s\x1b[K", l.bar(s.At), text)
		l.shown = true
		return
	}
	fmt.Fprintln(l.w, text)
}

// line is what a second says.
func (l *live) line(s *result.Second) string {
	rate, unit := float64(s.Events)/s.Length, "ev/s"
	if l.queries {
		rate, unit = float64(s.OK)/s.Length, "req/s"
	}
	phase := ""
	if s.Warmup {
		phase = " warm-up"
	}
	text := fmt.Sprintf("%5.1fs/%.0fs%s %s %s", s.At, l.total.Seconds(), phase, report.Rate(rate), unit)
	if q := s.Latency; q != nil {
		text += fmt.Sprintf("  p50 %s p99 %s max %s", report.Duration(q.P50), report.Duration(q.P99), report.Duration(q.Max))
	} else {
		text += "  no reply"
	}
	text += fmt.Sprintf("  in flight %d", s.Flight)
	if s.Backlog > 0 {
		text += fmt.Sprintf(" due %d", s.Backlog)
	}
	if s.Failed > 0 {
		text += fmt.Sprintf("  FAILED %d", s.Failed)
	}
	text += fmt.Sprintf("  cpu %.2f", s.ClientCPU)
	if s.ServerCPU != nil {
		text += fmt.Sprintf("+%.2f", *s.ServerCPU)
	}
	return text
}

func (l *live) bar(at float64) string {
	full := min(int(at/l.total.Seconds()*barWidth), barWidth)
	return "[" + strings.Repeat("█", full) + strings.Repeat("·", barWidth-full) + "]"
}

// end leaves the last line standing.
func (l *live) end() {
	if l.shown {
		fmt.Fprintln(l.w)
	}
}
