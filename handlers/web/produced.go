package web

import (
	"io"
	"sync"

	"darboux/frame"
)

// produced is a body that a producer makes: a goroutine that writes into a buffer, from
// which the burst's Worker takes. It is the only one that waits for a slow reader.
//
// The burst is either with its Worker or its loop, or it waits here until there is
// something to take. Whoever takes waiting away resumes it, so that is done once.
type produced struct {
	x        *exchange
	loop     frame.Home
	declared int           // the body's length; -1 is unknown
	room     chan struct{} // holds one wake for the producer

	mu        sync.Mutex
	buffer    []byte // made and not given to the burst
	made      int    // bytes that the producer has written
	given     int    // of them, those given to the burst
	unsent    int    // of them, those that the kernel had not taken when last seen; at most so many
	streaming bool   // the head has been given
	ended     bool   // the producer has returned; then err is its result
	err       error
	stop      error        // why nothing more is taken of the producer; nil: it is
	waiting   *frame.Burst // the burst, exactly while it waits for more
}

// buffers are the producers' buffers; each has room for what may be ahead of the kernel.
var buffers = sync.Pool{New: func() any { return new([mostAhead]byte) }}

// mostAhead is how many bytes a producer may be ahead of the kernel: the chunks that may
// wait for it, and the one that is being filled.
const mostAhead = (mostUnsent + 1) * chunkSize

// newProduced starts a producer for the body stream of x.
func newProduced(x *exchange, b *frame.Burst) *produced {
	p := &produced{x: x, loop: b.Home, declared: -1, room: make(chan struct{}, 1)}
	if n := x.ctx.Response.Header.ContentLength(); n >= 0 {
		p.declared = n
	}
	p.buffer = buffers.Get().(*[mostAhead]byte)[:0]
	b.OnGone(p.clientGone)
	go p.produce()
	return p
}

// produce is the producer.
func (p *produced) produce() {
	err := p.run()
	if cerr := p.x.ctx.Response.CloseBodyStream(); err == nil {
		err = cerr
	}
	p.x.http.leave(p.loop) // before the client can know that the reply is at its end
	p.mu.Lock()
	p.ended = true
	if p.err == nil {
		p.err = err
	}
	if p.err == nil && p.declared > p.made {
		p.err = errTooFew
	}
	resume := p.takeWaiting()
	p.mu.Unlock()
	if resume != nil {
		resume.Resume()
	}
}

// run copies the body. A panic in it is an error.
func (p *produced) run() (err error) {
	defer func() {
		if v := recover(); v != nil {
			p.x.panicked(v)
			err = errPanic
		}
	}()
	_, err = io.Copy(p, p.x.ctx.Response.BodyStream())
	return err
}

// Write takes what the producer makes, and lets it wait while it is too far ahead.
func (p *produced) Write(b []byte) (int, error) {
	done := 0
	for {
		n, resume, err := p.take(b[done:])
		if resume != nil {
			resume.Resume()
		}
		if done += n; err != nil || done == len(b) {
			return done, err
		}
		<-p.room
	}
}

// take takes as much of b as there is room for, and the burst if it is to go on.
func (p *produced) take(b []byte) (n int, resume *frame.Burst, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.stop != nil {
		return 0, nil, p.stop
	}
	if p.declared >= 0 && len(b) > p.declared-p.made {
		b, err = b[:p.declared-p.made], errTooMuch
	}
	n = min(len(b), max(0, mostAhead-len(p.buffer)-p.unsent)) // unsent may hold some bytes of a head
	p.buffer = append(p.buffer, b[:n]...)
	p.made += n
	if n < len(b) {
		err = nil // there is more to take first
	}
	if err != nil {
		p.err, p.stop = err, err
	}
	if p.chunks() > 0 {
		resume = p.takeWaiting()
	}
	return n, resume, err
}

// chunks is how many chunks are ready to be given.
func (p *produced) chunks() int {
	if !p.streaming && len(p.buffer) <= firstBuffer {
		return 0
	}
	return len(p.buffer) / chunkSize
}

func (p *produced) takeWaiting() *frame.Burst {
	b := p.waiting
	p.waiting = nil
	return b
}

// wake lets the producer look again.
func (p *produced) wake() {
	select {
	case p.room <- struct{}{}:
	default: // a wake is there already
	}
}

// clientGone is called by the loop, which must not be held up.
func (p *produced) clientGone() {
	p.mu.Lock()
	if p.stop == nil {
		p.stop = errGone
	}
	resume := p.takeWaiting()
	p.mu.Unlock()
	p.wake()
	if resume != nil {
		resume.Resume()
	}
}

func (p *produced) goOn(w *worker, b *frame.Burst) frame.Status {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.unsent = min(b.Unsent, p.given)
	p.wake()
	switch {
	case p.streaming:
	case p.ended && (p.failed() || len(p.buffer) <= firstBuffer):
		return p.sendWhole(w, b)
	case p.chunks() == 0:
		return p.wait(b)
	case p.declared < 0 && p.x.http10:
		return p.refuseHTTP10(w, b)
	default:
		p.streaming = true
		w.tally[streamed]++
		p.x.ctx.Response.Header.SetContentLength(p.declared)
		p.x.appendHead(b)
	}
	p.give(b)
	if p.ended && len(p.buffer) == 0 {
		return p.finish(w, b)
	}
	return p.wait(b)
}

// give moves the chunks that are ready, and have room, to the burst.
func (p *produced) give(b *frame.Burst) {
	at := 0
	for len(p.buffer)-at >= chunkSize || p.ended && at < len(p.buffer) {
		n := min(len(p.buffer)-at, roomFor(b))
		if n == 0 {
			break
		}
		piece := p.buffer[at : at+n]
		if p.declared < 0 {
			b.Out = appendChunk(b.Out, piece)
		} else {
			b.Out = append(b.Out, piece...)
		}
		at += len(piece)
	}
	p.given += at
	p.unsent += at
	p.x.sent += int64(at)
	p.buffer = p.buffer[:copy(p.buffer, p.buffer[at:])]
}

// roomFor is how many bytes of a body may be appended as a piece now.
func roomFor(b *frame.Burst) int {
	const framing = 8 // bytes around a chunk
	room := b.Window - len(b.Out)
	switch {
	case room >= chunkSize-mostUnsent*framing:
		return chunkSize
	case len(b.Out) == 0:
		return max(room, leastPiece)
	}
	return 0
}

// wait lets the burst go until there is more: to its loop if it holds replies or is at
// its window, else it stays here.
func (p *produced) wait(b *frame.Burst) frame.Status {
	if len(b.Out) > 0 {
		return frame.Blocked
	}
	if p.chunks() > 0 || p.ended { // an empty buffer has room for a piece
		panic("BUG: a burst waits for what is there")
	}
	if b.Gone() {
		return frame.Done
	}
	p.waiting = b
	return frame.Waiting
}

// failed reports whether the body is not what it should be, which more than was declared
// can be cut to.
func (p *produced) failed() bool { return p.err != nil && p.err != errTooMuch }

// sendWhole replies with a body that was no longer than one buffer.
func (p *produced) sendWhole(w *worker, b *frame.Burst) frame.Status {
	x := p.x
	if p.failed() {
		x.sendFailure(b, p.err)
		p.record(w, b, p.err)
		return frame.Done
	}
	x.close = x.close || p.err != nil
	x.ctx.Response.Header.SetContentLength(len(p.buffer))
	x.appendHead(b)
	if !fits(b, len(p.buffer)) { // it leaves piece by piece, under its length
		p.declared, p.streaming = len(p.buffer), true
		p.give(b)
		return frame.Blocked
	}
	b.Out = append(b.Out, p.buffer...)
	x.sent = int64(len(p.buffer))
	p.record(w, b, p.err)
	return frame.Done
}

// finish ends a stream whose bytes are all given: without an end if it failed, so that
// no client takes it for whole.
func (p *produced) finish(w *worker, b *frame.Burst) frame.Status {
	switch {
	case p.err != nil:
		p.x.close = true
	case p.declared < 0:
		b.Out = append(b.Out, "0\r\n\r\n"...)
	}
	p.record(w, b, p.err)
	return frame.Done
}

// refuseHTTP10 ends a reply that HTTP/1.0 can't tell the end of.
func (p *produced) refuseHTTP10(w *worker, b *frame.Burst) frame.Status {
	p.stop = errHTTP10
	p.wake()
	// The producer still reads its source, so the reply is another one's.
	other := newExchange(p.x.http)
	other.meet(b)
	other.close, other.end = true, p.x.end
	other.sendFailure(b, errHTTP10)
	b.OnGone(nil)
	p.x.over = true
	other.finish(&w.tally, b, errHTTP10)
	return frame.Done
}

// record ends the exchange with its result.
func (p *produced) record(w *worker, b *frame.Burst, err error) {
	b.OnGone(nil)
	p.release()
	p.x.finish(&w.tally, b, err)
}

// release gives the buffer back, when the producer has ended.
func (p *produced) release() {
	buffers.Put((*[mostAhead]byte)(p.buffer[:mostAhead]))
	p.buffer = nil
}

// Release notes that nobody waits for the rest: the producer's next write fails.
func (p *produced) Release() {
	p.clientGone()
	p.x.finishAlone(errGone)
}
