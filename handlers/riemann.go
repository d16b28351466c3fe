package handlers

import (
	"fmt"
	"time"

	"darboux/frame"
	"darboux/handlers/index"
	"darboux/handlers/query"
	"darboux/handlers/riemann"
)

// Riemann is what the Msgs of Riemann's clients are worked with. Its fields are set
// before Protocol is called and not changed afterwards.
type Riemann struct {
	Store    index.Store
	Queries  *query.Cache
	MaxFrame frame.Limit // bytes of a Msg, and of a reply
	MaxEvent frame.Limit // bytes of an event; a larger one is skipped
	// Now is the time in microseconds of the Unix epoch.
	Now func() int64
	// Report is told of what an operator may want to know. It must not block, and
	// it bounds its own rate.
	Report func(kind, peer, text string)

	counters counters
}

// Micros is the system's time in microseconds of the Unix epoch.
func Micros() int64 { return time.Now().UnixMicro() }

// Protocol returns the protocol by which loops cut Msgs and hand them over.
func (r *Riemann) Protocol() *frame.Protocol {
	return &frame.Protocol{
		Name:      "riemann",
		MaxFrame:  r.MaxFrame,
		Cut:       frame.CutLengthPrefixed,
		NewWorker: func() frame.Worker { return &msgWorker{Riemann: r} },
		Refuse:    func(dst []byte, err error) []byte { return riemann.AppendError(dst, err.Error()) },
		Describe:  foreign,
	}
}

// msgWorker works bursts of Msgs.
type msgWorker struct {
	*Riemann
	msg     riemann.Msg
	refused []bool
	now     int64
	search  search
	tally   tally
}

// Work answers the Msgs of a burst.
func (w *msgWorker) Work(b *frame.Burst) frame.Status {
	w.now = w.Now()
	status := w.workAll(b)
	w.counters.add(&w.tally)
	return status
}

func (w *msgWorker) workAll(b *frame.Burst) frame.Status {
	if b.Kept != nil && !b.Gone() && !w.resume(b) {
		return frame.Yielded
	}
	for b.Next < len(b.In) {
		if b.Gone() {
			return frame.Done
		}
		if len(b.Out) >= b.Window {
			return frame.Blocked
		}
		body, rest := frame.Next(b.Left())
		b.Next = len(b.In) - len(rest)
		w.tally[msgs]++
		if !w.answer(b, body) {
			return frame.Yielded
		}
	}
	return frame.Done
}

// answer answers one Msg: its events are applied first, then its query is run. It
// returns false if the query is to go on in another slice.
func (w *msgWorker) answer(b *frame.Burst, body []byte) bool {
	if err := w.decode(b, body); err != nil {
		w.tally[undecodable]++
		w.Report("undecodable Msg", b.Peer, err.Error())
		b.Out = riemann.AppendError(b.Out, err.Error())
		return true
	}
	if err := w.apply(b); err != nil {
		b.Out = riemann.AppendError(b.Out, err.Error())
		return true
	}
	if w.msg.HasQuery {
		return w.query(b)
	}
	b.Out = append(b.Out, riemann.Ack...)
	return true
}

// decode makes w.msg the view of a Msg. A panic in it is answered as an error.
func (w *msgWorker) decode(b *frame.Burst, body []byte) (err error) {
	defer w.caught(b, &err)
	return w.msg.Parse(body, w.MaxEvent.Value)
}

// apply puts the Msg's events into the index. There is an error only if none of them
// could be taken: a client that is told of one resends all.
func (w *msgWorker) apply(b *frame.Burst) error {
	refused := 0
	for w.msg.Next() {
		batch := w.msg.Events
		if cap(w.refused) < len(batch) {
			w.refused = make([]bool, len(batch))
		}
		refused += w.Store.Apply(batch, w.now, w.refused[:len(batch)])
	}
	w.tally[events] += int64(w.msg.Count)
	if refused == 0 && w.msg.Skipped == 0 {
		return nil
	}
	return w.notTaken(b, refused)
}

// notTaken counts and reports events that were refused or skipped.
func (w *msgWorker) notTaken(b *frame.Burst, refused int) error {
	w.tally[skippedEvents] += int64(w.msg.Skipped)
	w.tally[refusedEvents] += int64(refused)
	var err error
	if refused > 0 {
		err = w.Store.WhyRefused()
		w.Report("events refused", b.Peer, fmt.Sprintf("%d of a Msg's %d events: %v", refused, w.msg.Count, err))
	}
	if w.msg.Skipped > 0 {
		err = fmt.Errorf("event of %d bytes is over the limit of %d bytes (%s)", w.msg.Largest, w.MaxEvent.Value, w.MaxEvent.Flag)
		w.Report("events skipped", b.Peer, fmt.Sprintf("%d: %v", w.msg.Skipped, err))
	}
	if refused < w.msg.Count {
		return nil
	}
	return err
}
