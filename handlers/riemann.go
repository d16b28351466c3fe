package handlers

import (
	"time"

	"darboux/frame"
	"darboux/handlers/index"
	"darboux/handlers/query"
	"darboux/handlers/querylog"
	"darboux/handlers/riemann"
)

// Riemann is what the Msgs of Riemann's clients are worked with. Its fields are set
// before Protocol is called and not changed afterwards.
type Riemann struct {
	Store    index.Store
	Queries  *query.Cache
	MaxFrame frame.Limit // bytes of a Msg
	MaxReply frame.Limit // bytes of a reply, up to 4 GiB
	MaxEvent frame.Limit // bytes of an event; a larger one is skipped
	// Now is the time in microseconds of the Unix epoch.
	Now func() int64
	// Elapsed is the time from any start, by a clock that nobody sets.
	Elapsed func() time.Duration
	// QueryLog counts queries and tells of them.
	QueryLog *querylog.Log
	// Report is told of what an operator may want to know. It must not block, and
	// it bounds its own rate.
	Report func(kind, peer, text string)

	counters counters
}

// Micros is the system's time in microseconds of the Unix epoch.
func Micros() int64 { return time.Now().UnixMicro() }

var start = time.Now()

// SinceStart is the time since the process began, whatever is done to the clock.
func SinceStart() time.Duration { return time.Since(start) }

// Protocol returns the protocol by which loops cut Msgs and hand them over.
func (r *Riemann) Protocol() *frame.Protocol {
	return &frame.Protocol{
		Name:      "riemann",
		MaxFrame:  r.MaxFrame,
		Cut:       frame.CutLengthPrefixed,
		NewWorker: func() frame.Worker { return &msgWorker{Riemann: r} },
		Brief:     true,
		Refuse:    func(dst []byte, err error) []byte { return riemann.AppendError(dst, err.Error()) },
		Refused:   "refused frame",
		Describe:  foreign,
		Words:     frame.Words{Frame: "Msgs by the length in front", Work: "decode, apply, query", Reply: "a reply for each, in order"},
	}
}

// msgWorker works bursts of Msgs.
type msgWorker struct {
	*Riemann
	msg     riemann.Msg
	owed    []owed // the Msgs whose events msg holds
	applied int    // events of theirs that were applied
	refused []bool
	now     int64
	until   time.Duration // when the turn is over
	heavy   bool          // something was done that may have taken long
	search  search
	tally   tally
	asked   querylog.Tally
}

// Work answers the Msgs of a burst.
func (w *msgWorker) Work(b *frame.Burst) frame.Status {
	w.now, w.until, w.heavy = w.Now(), w.Elapsed()+sliceTime, false
	status := w.workAll(b)
	if status == frame.Yielded && letLeave(b) {
		status = frame.Blocked
	}
	w.counters.add(&w.tally)
	w.QueryLog.Add(&w.asked)
	return status
}

// letLeave reports whether whole replies stand in front of what takes longer, and can leave:
// they are not to wait for it.
func letLeave(b *frame.Burst) bool {
	s, begun := b.Kept.(*search)
	if !begun {
		return b.SetAside(len(b.Out))
	}
	ok := b.SetAside(s.start)
	if ok {
		s.start = 0
	}
	return ok
}

func (w *msgWorker) workAll(b *frame.Burst) frame.Status {
	if b.Kept != nil && !b.Gone() {
		if status := w.resume(b); status != frame.Done {
			w.letGo(b)
			return status
		}
	}
	status := w.frames(b)
	w.pay(b)
	w.letGo(b)
	return status
}

// keepView is the size in bytes of a burst up to which a worker may go on holding it
// by its last view of it.
const keepView = 64 << 10

// letGo lets go of a large burst's frames: of w's own views of them, and of the frames
// themselves if only the reply to the last one is left to be sent.
func (w *msgWorker) letGo(b *frame.Burst) {
	if len(b.In) > keepView {
		w.msg.Reset()
	}
	if s, asks := b.Kept.(*search); asks && s.sending && b.Next == len(b.In) {
		b.DropIn()
	}
}

// frames answers the frames that are left, but for acks that are still owed.
func (w *msgWorker) frames(b *frame.Burst) frame.Status {
	for b.Next < len(b.In) && !b.Close {
		if b.Gone() {
			return frame.Done
		}
		owing := len(b.Out) + len(w.owed)*len(riemann.Ack)
		switch {
		case owing >= b.Window:
			return frame.Blocked
		case w.turnOver() && owing > 0:
			return frame.Blocked // so that what is answered can leave
		case w.turnOver():
			return frame.Yielded
		}
		body, rest := frame.Next(b.Left())
		if b.Brief && riemann.Asks(body) {
			return frame.Yielded
		}
		b.Next = len(b.In) - len(rest)
		w.tally[msgs]++
		if status := w.answer(b, body); status != frame.Done {
			return status
		}
	}
	return frame.Done
}

// answer answers one Msg: its events are applied first, then its query is run. If it is
// not Done, the burst is to go on with it later. The ack of a Msg without query may stay
// owed, so that its events are applied together with those of others.
func (w *msgWorker) answer(b *frame.Burst, body []byte) frame.Status {
	if err := w.decode(b, body); err != nil {
		w.pay(b)
		w.tally[undecodable]++
		w.Report("undecodable Msg", b.Peer, err.Error())
		b.Out = riemann.AppendError(b.Out, err.Error())
		return frame.Done
	}
	w.owe()
	if w.msg.HasQuery || w.full() {
		return w.pay(b)
	}
	return frame.Done
}

// turnOver reports whether others are to have their turn. The clock is looked at only
// after what may have taken long: a burst of small Msgs is a turn by itself.
func (w *msgWorker) turnOver() bool { return w.heavy && w.Elapsed() >= w.until }

// decode puts a Msg's events behind those that w.msg holds. A panic in it is answered
// as an error.
func (w *msgWorker) decode(b *frame.Burst, body []byte) (err error) {
	defer w.caught(b, &err)
	w.heavy = w.heavy || len(body) > keepView
	return w.msg.ParseMore(body, w.MaxEvent.Value)
}
