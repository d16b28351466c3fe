package handlers

import (
	"math"
	"time"

	"darboux/frame"
)

// datagramSlice is how many bytes of datagrams are worked before others have their
// turn: about a millisecond's work.
const datagramSlice = 64 << 10

// eachDatagram calls f with each datagram of a burst that is not worked yet, and its
// place among all, but stops when a slice is done.
func eachDatagram(b *frame.Burst, f func(body []byte, i int)) frame.Status {
	i := datagramsBefore(b)
	for until := b.Next + datagramSlice; b.Next < len(b.In); i++ {
		switch {
		case b.Gone():
			return frame.Done
		case b.Next >= until:
			return frame.Yielded
		}
		body, rest := frame.Next(b.Left())
		b.Next = len(b.In) - len(rest)
		f(body, i)
	}
	return frame.Done
}

// datagramsBefore counts the datagrams that are worked.
func datagramsBefore(b *frame.Burst) int {
	n := 0
	for in := b.In; len(in) > len(b.Left()); n++ {
		_, in = frame.Next(in)
	}
	return n
}

// peerOf names the sender of a burst's i-th frame.
func peerOf(b *frame.Burst, i int) string {
	if i < len(b.From) {
		return b.From[i].String()
	}
	return b.Peer
}

// Datagrams returns the protocol of datagrams of Graphite lines and the like: several
// of them in one, the last of which may lack its newline. There is never a reply.
func (l *Lines) Datagrams() *frame.Protocol {
	return &frame.Protocol{
		Name:      l.Name,
		MaxFrame:  l.MaxLine,
		NewWorker: func() frame.Worker { return &lineDatagramWorker{lineWorker{Lines: l}} },
		Words:     frame.Words{Frame: "whole lines", Work: "parse, apply"},
	}
}

// lineDatagramWorker works bursts of datagrams of lines.
type lineDatagramWorker struct{ lineWorker }

// Work works the lines of a burst of datagrams.
func (w *lineDatagramWorker) Work(b *frame.Burst) frame.Status {
	w.begin(b)
	defer w.end()
	return eachDatagram(b, w.lines)
}

func (w *lineDatagramWorker) lines(body []byte, i int) {
	for line := []byte(nil); len(body) > 0; {
		line, body = frame.NextLine(body)
		w.line(line, i)
	}
}

// Datagrams returns the protocol of datagrams that are a Msg each. Nothing is ever
// answered.
func (r *Riemann) Datagrams() *frame.Protocol {
	return &frame.Protocol{
		Name:      "riemann",
		MaxFrame:  r.MaxFrame,
		NewWorker: func() frame.Worker { return &msgDatagramWorker{msgWorker: msgWorker{Riemann: r}} },
		Words:     frame.Words{Frame: "one Msg", Work: "decode, apply"},
	}
}

// msgDatagramWorker works bursts of datagrams that are Msgs.
type msgDatagramWorker struct {
	msgWorker
	burst   *frame.Burst
	senders []int // of the Msgs whose events msg holds, their places in the burst
}

// Work applies the Msgs of a burst.
func (w *msgDatagramWorker) Work(b *frame.Burst) frame.Status {
	w.burst, w.now, w.until = b, w.Now(), never
	status := eachDatagram(b, w.take)
	w.applyOwed()
	w.letGo(b)
	w.burst = nil
	w.counters.add(&w.tally)
	return status
}

// never is when the turn is over of what is bounded by its size.
const never = time.Duration(math.MaxInt64)

// take takes a Msg; its events may wait to be applied together with those of others.
func (w *msgDatagramWorker) take(body []byte, i int) {
	w.tally[msgs]++
	if err := w.decode(w.burst, body); err != nil {
		w.tally[undecodableDatagrams]++
		w.Report("undecodable datagram", peerOf(w.burst, i), err.Error())
		return
	}
	if w.msg.HasQuery {
		w.tally[queriesIgnored]++
	}
	w.owe()
	w.senders = append(w.senders, i)
	if w.full() {
		w.applyOwed()
	}
}

// applyOwed applies the events at hand, and reports what could not be taken.
func (w *msgDatagramWorker) applyOwed() {
	w.apply()
	for i := range w.owed {
		w.notTaken(w.burst, w.senders[i], &w.owed[i])
	}
	w.owed, w.senders = w.owed[:0], w.senders[:0]
}
