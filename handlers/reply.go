package handlers

import (
	"fmt"

	"darboux/frame"
	"darboux/handlers/querylog"
	"darboux/handlers/riemann"
)

// A reply that does not fit into one buffer is a stream. Its length stands in front, so
// all that it consists of is found first. Then it is copied as the connection takes it:
// up to the window at a time, and what is found but not yet copied stays as it was,
// whatever happens to its entries. If that has to be given up before the reply's end, the
// connection is closed: no client can take the piece for the whole.

// replyHead is the size of what stands in front of a reply's events, without its length.
const replyHead = 2

// replySize is the size of a reply of the events found so far, without its length.
func (s *search) replySize() int64 { return replyHead + s.cursor.Bytes }

// boundReply lets a reply that has become too large go. The rest is found only to be
// counted.
func (w *msgWorker) boundReply(s *search) {
	if s.replySize() > int64(w.MaxReply.Value) {
		s.dropStream()
		s.cursor.Count = true
	}
}

// unbroken returns an error if the stream was given up before all was found.
func (w *msgWorker) unbroken(s *search) error {
	err := s.Broken()
	if err == nil {
		return nil
	}
	w.tally[noStreamMemory]++
	return fmt.Errorf("reply of more than %d events in %d bytes: %w", s.cursor.Matched, s.replySize(), err)
}

// fail makes an error the query's reply.
func (w *msgWorker) fail(b *frame.Burst, s *search, err error) {
	b.CutTo(s.start)
	b.Out = riemann.AppendError(b.Out, err.Error())
}

// found begins the reply when all is found.
func (w *msgWorker) found(b *frame.Burst, s *search) frame.Status {
	w.asked[querylog.Matched] += int64(s.cursor.Matched)
	w.asked[querylog.Looked] += int64(s.cursor.Looked)
	w.trace(b, s)
	if s.cursor.Count {
		w.tally[tooLarge]++
		w.fail(b, s, fmt.Errorf("reply of %d events in %d bytes is over the limit of %d bytes (%s): narrow the query",
			s.cursor.Matched, s.replySize(), w.MaxReply.Value, w.MaxReply.Flag))
		return frame.Done
	}
	if err := w.unbroken(s); err != nil {
		w.fail(b, s, err)
		return frame.Done
	}
	riemann.SetLength(b.Out, s.start, int(s.replySize()))
	if s.stream == nil {
		return frame.Done
	}
	w.tally[streamed]++
	s.sending = true
	s.dropQuery() // the peer may take long to read the reply
	return w.send(b, s)
}

// send appends what comes next of a reply, as much as the window has room for.
func (w *msgWorker) send(b *frame.Burst, s *search) frame.Status {
	if len(b.Out) >= b.Window {
		return frame.Blocked
	}
	if cap(b.Out) < b.Window {
		b.Out = append(make([]byte, 0, b.Window+fieldHead), b.Out...)
	}
	var done bool
	b.Out, done = s.stream.Next(b.Out, b.Window)
	if done {
		return frame.Done
	}
	if err := s.Broken(); err != nil {
		w.tally[brokenOff]++
		w.Report("reply broken off", b.Peer, err.Error())
		b.Close = true
		return frame.Done
	}
	return frame.Blocked
}

// fieldHead is the most bytes that stand in front of an event, by which a window may be
// exceeded.
const fieldHead = 8

// trace tells how a query was worked, if somebody wants to know.
func (w *msgWorker) trace(b *frame.Burst, s *search) {
	if w.QueryLog.Trace == nil {
		return
	}
	w.QueryLog.Trace(&querylog.Trace{
		Peer: b.Peer, Query: s.query.String(), Way: s.cursor.Way, Looked: s.cursor.Looked, Matched: s.cursor.Matched,
		Bytes: s.replySize(), Streamed: s.stream != nil,
	})
}
