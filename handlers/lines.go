package handlers

import (
	"fmt"
	"runtime/debug"
	"sync/atomic"

	"darboux/frame"
	"darboux/handlers/index"
	"darboux/handlers/riemann"
	"darboux/handlers/series"
)

// Lines is a protocol whose frames are lines of text that bring a point each, such as
// Graphite's. Its fields are set before Protocol or Datagrams is called and not changed
// afterwards.
type Lines struct {
	Name string // of the protocol, in log lines and metrics
	// Parse takes up the point of a line, which is text without its end.
	Parse func(p *series.Point, line []byte) series.Problem
	// Reply appends the reply to a line that brought no point; nil: there never is one.
	Reply func(dst, line []byte, why series.Problem) []byte

	Store   index.Store
	MaxLine frame.Limit // bytes of a line with its newline; a longer one is skipped
	TTL     float32     // seconds that the events live; 0 leaves it to the index
	// Now is the time in microseconds of the Unix epoch.
	Now func() int64
	// Report is told of what an operator may want to know. It must not block, and
	// it bounds its own rate.
	Report func(kind, peer, text string)

	lines   atomic.Int64
	refused atomic.Int64
	bad     [series.Problems]atomic.Int64
}

// Protocol returns the protocol of connections that send lines.
func (l *Lines) Protocol() *frame.Protocol {
	words := frame.Words{Frame: "lines by their newline", Work: "parse, apply"}
	if l.Reply != nil {
		words.Reply = "a line for each that was no point"
	}
	return &frame.Protocol{
		Name:      l.Name,
		MaxFrame:  l.MaxLine,
		Cut:       frame.CutLines,
		Unhurried: true, // senders flush full buffers, and the next one may come a minute later
		NewWorker: func() frame.Worker { return &streamWorker{lineWorker{Lines: l}} },
		Words:     words,
	}
}

// Stats returns the counters, always the same ones in the same order. Any goroutine
// may call it.
func (l *Lines) Stats() []frame.Stat {
	out := []frame.Stat{
		{Name: l.Name + " lines", Value: l.lines.Load()},
		{Name: l.Name + " events refused", Value: l.refused.Load()},
	}
	for why := series.TooLong; why < series.Problems; why++ {
		out = append(out, frame.Stat{Name: l.Name + " lines bad: " + why.String(), Value: l.bad[why].Load()})
	}
	return out
}

// streamWorker works bursts of lines.
type streamWorker struct{ lineWorker }

// Work works the lines of a burst.
func (w *streamWorker) Work(b *frame.Burst) frame.Status {
	w.begin(b)
	defer w.end()
	for b.Next < len(b.In) {
		switch {
		case b.Gone():
			return frame.Done
		case len(b.Out) >= b.Window:
			return frame.Blocked
		}
		line, rest := frame.NextLine(b.Left())
		b.Next = len(b.In) - len(rest)
		w.line(line, 0)
	}
	return frame.Done
}

const (
	// batchLines and batchBytes are how many lines' events, and about how many bytes
	// of them, are applied together.
	batchLines = 256
	batchBytes = 64 << 10
)

// lineWorker makes events of lines. Between two bursts it holds nothing of either.
type lineWorker struct {
	*Lines
	burst *frame.Burst
	now   int64
	point series.Point

	wire    []byte // events that are not applied yet, each up to its end
	ends    []int
	events  []riemann.Event
	refused []bool

	count int64                     // lines
	bad   [series.Problems]badLines // lines without a point
}

// badLines are those of a burst with the same problem.
type badLines struct {
	count int64
	first []byte // part of the burst
	from  int    // the frame that it stood in
}

func (w *lineWorker) begin(b *frame.Burst) {
	w.burst, w.now = b, w.Now()
}

// end applies what is left and lets go of the burst.
func (w *lineWorker) end() {
	w.apply()
	w.Lines.lines.Add(w.count)
	w.count = 0
	for why := range w.bad {
		if w.bad[why].count > 0 {
			w.tell(series.Problem(why))
		}
	}
	w.burst = nil
}

// line works one line, which stood in the from-th frame of a burst of datagrams.
func (w *lineWorker) line(line []byte, from int) {
	w.count++
	why := w.read(&line, from)
	if why == series.None {
		w.take()
		return
	}
	if why != series.NoPoint {
		w.note(why, line, from)
	}
	if w.Reply != nil {
		w.burst.Out = w.Reply(w.burst.Out, line, why)
	}
}

// read takes up a line's point, and leaves out the line's end. A panic of ours is a
// problem of that line alone.
func (w *lineWorker) read(line *[]byte, from int) (why series.Problem) {
	if len(*line) >= w.MaxLine.Value {
		return series.TooLong
	}
	*line = series.Trimmed(*line)
	if !series.IsText(*line) {
		return series.NotText
	}
	defer func() {
		if v := recover(); v != nil {
			w.Report("panic", peerOf(w.burst, from), fmt.Sprintf("%v\n%s", v, debug.Stack()))
			why = series.Broken
		}
	}()
	w.point.Begin()
	return w.Parse(&w.point, *line)
}

// take puts the point's event behind those that wait to be applied.
func (w *lineWorker) take() {
	w.wire = w.point.AppendEvent(w.wire, w.TTL)
	w.ends = append(w.ends, len(w.wire))
	if len(w.ends) == batchLines || len(w.wire) >= batchBytes {
		w.apply()
	}
}

// apply puts the events at hand into the index.
func (w *lineWorker) apply() {
	if w.events == nil {
		w.events, w.refused = make([]riemann.Event, batchLines), make([]bool, batchLines)
	}
	start := 0
	for i, end := range w.ends {
		if err := w.events[i].Parse(w.wire[start:end]); err != nil {
			panic("BUG: the event of a line is refused: " + err.Error())
		}
		start = end
	}
	n := len(w.ends)
	if refused := w.Store.Apply(w.events[:n], w.now, w.refused[:n]); refused > 0 {
		w.Lines.refused.Add(int64(refused))
		w.Report(w.Name+" events refused", w.burst.Peer, fmt.Sprintf("%d of %d lines: %v", refused, n, w.Store.WhyRefused()))
	}
	w.wire, w.ends = w.wire[:0], w.ends[:0]
}

// note counts a bad line; the first of each kind in a burst is reported with it.
func (w *lineWorker) note(why series.Problem, line []byte, from int) {
	b := &w.bad[why]
	if b.count == 0 {
		b.first, b.from = line, from
	}
	b.count++
}

// mostShown is how many bytes of a bad line are reported.
const mostShown = 64

// tell counts and reports the bad lines of a burst with the same problem.
func (w *lineWorker) tell(why series.Problem) {
	b := &w.bad[why]
	w.Lines.bad[why].Add(b.count)
	limit := ""
	if why == series.TooLong {
		limit = fmt.Sprintf(" of %d bytes or more (%s),", w.MaxLine.Value, w.MaxLine.Flag)
	}
	w.Report("bad "+w.Name+" line: "+why.String(), peerOf(w.burst, b.from), fmt.Sprintf("%d at once,%s the first begins %q",
		b.count, limit, b.first[:min(len(b.first), mostShown)]))
	*b = badLines{}
}
