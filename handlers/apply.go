package handlers

import (
	"fmt"

	"darboux/frame"
	"darboux/handlers/riemann"
)

// joinEvents is how many events of several Msgs are applied together: enough for their
// cache misses to overlap.
const joinEvents = 64

// owed is a Msg whose events are to be applied before it is answered.
type owed struct {
	events  int // that it has
	refused int // of them, by the index
	skipped int // beside them, because they were too large
	largest int // bytes of the largest of those
}

// owe notes that the events of the Msg that was decoded last are to be applied.
func (w *msgWorker) owe() {
	w.owed = append(w.owed, owed{events: w.msg.Count, skipped: w.msg.Skipped, largest: w.msg.Largest})
}

// full reports whether the events at hand are to be applied before another Msg is
// decoded.
func (w *msgWorker) full() bool { return w.msg.Viewed() >= joinEvents || !w.msg.Whole() }

// pay applies the events at hand and answers the Msgs they came in.
func (w *msgWorker) pay(b *frame.Burst) {
	w.apply()
	for i := range w.owed {
		w.acknowledge(b, &w.owed[i])
	}
	w.owed = w.owed[:0]
}

// payAndQuery is pay, but that the last Msg is answered by its query.
func (w *msgWorker) payAndQuery(b *frame.Burst) bool {
	w.apply()
	last := len(w.owed) - 1
	for i := range w.owed[:last] {
		w.acknowledge(b, &w.owed[i])
	}
	err := w.notTaken(b, 0, &w.owed[last])
	w.owed = w.owed[:0]
	if err != nil {
		b.Out = riemann.AppendError(b.Out, err.Error())
		return true
	}
	return w.query(b)
}

// acknowledge answers a Msg without query. There is an error only if none of its events
// could be taken: a client that is told of one resends all.
func (w *msgWorker) acknowledge(b *frame.Burst, o *owed) {
	if err := w.notTaken(b, 0, o); err != nil {
		b.Out = riemann.AppendError(b.Out, err.Error())
		return
	}
	b.Out = append(b.Out, riemann.Ack...)
}

// apply puts the events at hand into the index.
func (w *msgWorker) apply() {
	applied := 0
	for w.msg.Next() {
		batch := w.msg.Events
		if cap(w.refused) < len(batch) {
			w.refused = make([]bool, len(batch))
		}
		refused := w.refused[:len(batch)]
		if w.Store.Apply(batch, w.now, refused) > 0 {
			w.charge(applied, refused)
		}
		applied += len(batch)
	}
	w.tally[events] += int64(applied)
}

// charge notes which Msgs the refused events came in; before them stand first others.
func (w *msgWorker) charge(first int, refused []bool) {
	end := 0
	for i := range w.owed {
		o := &w.owed[i]
		begin := max(end, first)
		end += o.events
		for at := begin; at < min(end, first+len(refused)); at++ {
			if refused[at-first] {
				o.refused++
			}
		}
	}
}

// notTaken counts and reports the events of a Msg that were refused or skipped; in a
// burst of datagrams the Msg is the from-th. It returns why if none was taken.
func (w *msgWorker) notTaken(b *frame.Burst, from int, o *owed) error {
	if o.refused == 0 && o.skipped == 0 {
		return nil
	}
	w.tally[refusedEvents] += int64(o.refused)
	w.tally[skippedEvents] += int64(o.skipped)
	var err error
	if o.refused > 0 {
		err = w.Store.WhyRefused()
		w.Report("events refused", peerOf(b, from), fmt.Sprintf("%d of a Msg's %d events: %v", o.refused, o.events, err))
	}
	if o.skipped > 0 {
		err = fmt.Errorf("event of %d bytes is over the limit of %d bytes (%s)", o.largest, w.MaxEvent.Value, w.MaxEvent.Flag)
		w.Report("events skipped", peerOf(b, from), fmt.Sprintf("%d: %v", o.skipped, err))
	}
	if o.refused < o.events {
		return nil
	}
	return err
}
