package web

import (
	"bufio"
	"fmt"
	"runtime/debug"

	"github.com/valyala/fasthttp"

	"darboux/frame"
)

// worker works bursts of requests.
type worker struct {
	*HTTP
	spare *exchange // used for the next request, unless the last one kept it
	known known
	move  []byte // what is moved within a reply
	tally tally
	fresh bool // the burst's peer and the time are to be noted
}

// keepScratch is the size in bytes up to which a worker keeps a buffer for reuse.
const keepScratch = 1 << 20

func newWorker(h *HTTP) *worker {
	w := &worker{HTTP: h}
	if h.hasBrief() {
		w.known.isBrief = h.Brief
	}
	w.known.reader = bufio.NewReaderSize(&w.known.source, h.MaxHead.Value+16)
	return w
}

// Work answers the requests of a burst.
func (w *worker) Work(b *frame.Burst) frame.Status {
	w.fresh = true
	status := w.workAll(b)
	if status == frame.Yielded && letLeave(b) {
		status = frame.Blocked
	}
	w.counters.add(&w.tally) // of b nothing may be touched here: it may be another's
	return status
}

// letLeave reports whether whole replies stand in front of what takes longer, and can leave:
// they are not to wait for it.
func letLeave(b *frame.Burst) bool {
	if s, begun := b.Kept.(*sliced); begun {
		return s.start > 0 && s.letLeave(b)
	}
	return b.SetAside(len(b.Out))
}

// reply is what a Worker keeps in a burst while a reply is under way.
type reply interface {
	frame.Kept
	// goOn appends to b.Out as much as is at hand and has room. Done says that the reply
	// is at its end; then b.Kept is nil.
	goOn(w *worker, b *frame.Burst) frame.Status
}

func (w *worker) workAll(b *frame.Burst) frame.Status {
	for {
		switch {
		case b.Gone():
			return frame.Done
		case b.Kept != nil && b.Brief:
			return frame.Yielded
		case b.Kept != nil:
			if status := b.Kept.(reply).goOn(w, b); status != frame.Done {
				return status
			}
		case b.Next == len(b.In) || b.Close:
			return frame.Done
		case len(b.Out) >= b.Window:
			return frame.Blocked
		case !w.answer(b):
			return frame.Yielded
		}
	}
}

// answer answers one request, or begins to, unless it may take too long where b is.
func (w *worker) answer(b *frame.Burst) bool {
	r, rest := w.known.next(b.Left())
	if b.Brief && !w.known.brief {
		return false
	}
	b.Next = len(b.In) - len(rest)
	w.tally[requests]++
	x := w.exchange(b)
	if err := w.known.err; err != nil {
		w.tally[unparsed]++
		x.fail(fasthttp.StatusBadRequest, err)
		x.head, x.close = w.known.header.IsHead(), true
	} else {
		x.take(&w.known, &r)
		w.handle(x)
	}
	if x.respond(w, b) {
		x.reset(w.known.brief)
		w.spare = x
	}
	return true
}

// exchange returns one for the next request of b.
func (w *worker) exchange(b *frame.Burst) *exchange {
	x := w.spare
	if x == nil {
		x = newExchange(w.HTTP)
		w.fresh = true
	}
	w.spare = nil
	if w.fresh {
		w.fresh = false
		x.meet(b)
	}
	x.begin()
	return x
}

// handle lets the handler answer. A panic in it is answered as an error, unless it comes
// from the index: then going on would serve damage.
func (w *worker) handle(x *exchange) {
	defer func() {
		if v := recover(); v != nil {
			x.panicked(v)
			x.fail(fasthttp.StatusInternalServerError, errPanic)
		}
	}()
	if w.Observe != nil {
		x.end = w.Observe(&x.ctx)
	}
	w.Handler(&x.ctx)
}

// damage is a panic of the index itself, after which its data can't be trusted.
type damage struct{ value any }

func (d damage) Error() string { return fmt.Sprint(d.value) }

// panicked notes that code which makes the reply panicked with v. Damage goes on.
func (x *exchange) panicked(v any) {
	if d, ok := v.(damage); ok {
		panic(d)
	}
	x.http.counters[panics].Add(1)
	x.http.Report("panic", x.peer, fmt.Sprintf("%v\n%s", v, debug.Stack()))
}
