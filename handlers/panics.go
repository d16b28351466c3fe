package handlers

import (
	"fmt"
	"runtime/debug"

	"darboux/frame"
	"darboux/handlers/query"
	"darboux/handlers/querylog"
)

// caught, deferred, answers a panic as an error of the frame that caused it: the
// connection goes on, and so does the server. It stands only around code that
// decodes or queries; a panic in the index means that its data can't be trusted any
// more, and ends the process.
func (w *msgWorker) caught(b *frame.Burst, err *error) {
	if v := recover(); v != nil {
		w.caughtValue(b, v, err)
	}
}

func (w *msgWorker) caughtValue(b *frame.Burst, v any, err *error) {
	if cost, ok := v.(*query.CostError); ok {
		w.asked[querylog.TooCostly]++
		*err = cost
		return
	}
	w.tally[panics]++
	w.Report("panic", b.Peer, fmt.Sprintf("%v\n%s", v, debug.Stack()))
	*err = fmt.Errorf("internal error: %v", v)
}
