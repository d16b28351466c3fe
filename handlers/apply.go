package handlers

import (
	"fmt"

	"darboux/frame"
	"darboux/handlers/riemann"
)

// joinEvents is how many events of several Msgs are applied together: enough for their
// cache misses to overlap.
const joinEvents = 64

// mostOwed is how many Msgs are decoded at most before they are answered, whatever few
// events they have: they are kept where a burst is worked in slices.
const mostOwed = 512

// owed is a Msg whose events are to be applied before it is answered.
type owed struct {
	events  int // that it has
	refused int // of them, by the index
	skipped int // beside them, because they were too large
	largest int // bytes of the largest of those
	query   bool
}

// owe notes that the events of the Msg that was decoded last are to be applied.
func (w *msgWorker) owe() {
	w.owed = append(w.owed, owed{events: w.msg.Count, skipped: w.msg.Skipped, largest: w.msg.Largest, query: w.msg.HasQuery})
}

// full reports whether the events at hand are to be applied before another Msg is
// decoded.
func (w *msgWorker) full() bool {
	return w.msg.Viewed() >= joinEvents || len(w.owed) >= mostOwed || !w.msg.Whole()
}

// pay applies the events at hand and answers the Msgs they came in, the last one perhaps
// by its query. If it is not Done, the burst is to go on with it later.
func (w *msgWorker) pay(b *frame.Burst) frame.Status {
	if !w.apply() {
		b.Kept = &applying{msg: w.msg.Rest(), owed: append([]owed(nil), w.owed...), applied: w.applied}
		w.owed = w.owed[:0]
		return frame.Yielded
	}
	all := w.owed
	w.owed = w.owed[:0]
	for i := range all {
		o := &all[i]
		if err := w.notTaken(b, 0, o); err != nil {
			b.Out = riemann.AppendError(b.Out, err.Error())
			continue
		}
		if o.query { // the last one's: what comes behind a query is not decoded yet
			return w.query(b)
		}
		b.Out = append(b.Out, riemann.Ack...)
	}
	return frame.Done
}

// applying is a Msg of very many events that is applied in slices.
type applying struct {
	msg     riemann.Msg // what is left of it
	owed    []owed
	applied int
}

// Release has nothing to let go of: the events are the burst's.
func (*applying) Release() {}

// goOn goes on with a Msg that is applied in slices.
func (w *msgWorker) goOn(b *frame.Burst, a *applying) frame.Status {
	w.msg.GoOn(a.msg)
	w.owed, w.applied, w.heavy = append(w.owed[:0], a.owed...), a.applied, true
	b.Kept = nil
	return w.pay(b)
}

// apply puts the events at hand into the index. It returns false when the turn is over
// and some are left, of a Msg that is not viewed as a whole.
func (w *msgWorker) apply() bool {
	for w.msg.Next() {
		batch := w.msg.Events
		if cap(w.refused) < len(batch) {
			w.refused = make([]bool, len(batch))
		}
		refused := w.refused[:len(batch)]
		if w.Store.Apply(batch, w.now, refused) > 0 {
			w.charge(w.applied, refused)
		}
		w.applied += len(batch)
		w.tally[events] += int64(len(batch))
		if w.heavy = w.heavy || !w.msg.Whole(); !w.msg.Whole() && w.turnOver() {
			return false
		}
	}
	w.applied = 0
	return true
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
