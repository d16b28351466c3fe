package web

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"time"

	"github.com/valyala/fasthttp"

	"darboux/frame"
)

// HTTP is the protocol. Its fields are set before Protocol is called and not changed
// afterwards.
type HTTP struct {
	MaxHead     frame.Limit   // bytes of a request's head
	MaxBody     frame.Limit   // bytes of a request's body
	IdleTimeout time.Duration // how long a connection may rest between two requests; 0 is for ever
	Producers   frame.Limit   // body writers that may run at a time
	// LoopProducers is how many of them may write to connections of one loop: fewer than
	// it may have bursts out, so that others always find room. A value of 0 is no limit.
	LoopProducers frame.Limit
	// Handler answers the requests. It runs on the handlers of the pool and must not wait.
	Handler fasthttp.RequestHandler
	// Brief reports whether requests for a path, without a body, are answered about as
	// quickly as they are handed over, and leave the request as it is: then loops may call
	// Handler themselves, and the same request may be shown to it again. It is called by
	// loops and handlers; nil is none.
	Brief func(path []byte) bool
	// Observe watches each exchange; nil is nobody, and costs nothing.
	Observe Observe
	// Report is told of what an operator may want to know. It must not block, and
	// it bounds its own rate.
	Report func(kind, peer, text string)

	counters  counters
	producers producers
}

// Protocol returns the protocol by which loops cut requests and hand them over.
func (h *HTTP) Protocol() *frame.Protocol {
	cutter := &frame.HTTP{MaxHead: h.MaxHead, MaxBody: h.MaxBody}
	return &frame.Protocol{
		Name:        "http",
		MaxFrame:    frame.Limit{Flag: h.MaxBody.Flag, Value: cutter.MaxFrame()},
		Cut:         cutter.Cut,
		Brief:       h.hasBrief(),
		IdleTimeout: h.IdleTimeout,
		NewWorker:   func() frame.Worker { return newWorker(h) },
		Refuse:      h.refuse,
		Refused:     "refused HTTP request",
		Describe:    foreign,
		Words:       frame.Words{Frame: "HTTP requests, with the framing of chunks", Work: "parse, route, apply or query, make the body", Reply: "replies in order, long ones in chunks of 16KiB"},
	}
}

// hasBrief reports whether there are brief requests: who observes may have to wait, and may
// change a request.
func (h *HTTP) hasBrief() bool { return h.Brief != nil && h.Observe == nil }

// refuse appends the reply to a request that was not taken.
func (h *HTTP) refuse(dst []byte, err error) []byte {
	h.counters[refused].Add(1)
	status := fasthttp.StatusBadRequest
	var why *frame.HTTPError
	if errors.As(err, &why) {
		status = why.Status
	}
	text := err.Error() + "\n"
	dst = append(dst, "HTTP/1.1 "...)
	dst = strconv.AppendInt(dst, int64(status), 10)
	dst = append(append(dst, ' '), fasthttp.StatusMessage(status)...)
	dst = append(dst, "\r\nContent-Type: "+plainText+"\r\nConnection: close\r\nContent-Length: "...)
	dst = strconv.AppendInt(dst, int64(len(text)), 10)
	return append(append(dst, "\r\n\r\n"...), text...)
}

// foreignHeads are the first bytes of protocols whose clients knock at this port by
// mistake.
var foreignHeads = []struct{ head, name string }{
	{"\x16\x03", "a TLS client"},
	{"\x00", "a Riemann client"},
	{"SSH-", "an SSH client"},
}

// foreign names what the bytes of a refused request look like, for the log.
func foreign(err error) string {
	var why *frame.HTTPError
	if !errors.As(err, &why) {
		return ""
	}
	for _, f := range foreignHeads {
		if bytes.HasPrefix(why.Head, []byte(f.head)) {
			return f.name
		}
	}
	return ""
}

// producers counts the body writers that run.
type producers struct {
	mu      sync.Mutex
	running int
	loops   map[frame.Home]int
	ended   *sync.Cond // told when one ends; nil until somebody waits
}

// enter counts a producer in, or tells why there is no room for it.
func (h *HTTP) enter(loop frame.Home) error {
	p := &h.producers
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.running >= h.Producers.Value {
		return fmt.Errorf("%d replies are being made by writers of their own, of %d at a time (%s): ask again", p.running, h.Producers.Value, h.Producers.Flag)
	}
	if most := h.LoopProducers; most.Value > 0 && p.loops[loop] >= most.Value {
		return fmt.Errorf("%d replies of the same loop are being made by writers of their own, of %d at a time (by %s): ask again", p.loops[loop], most.Value, most.Flag)
	}
	if p.loops == nil {
		p.loops = map[frame.Home]int{}
	}
	p.running++
	p.loops[loop]++
	return nil
}

// leave counts a producer out.
func (h *HTTP) leave(loop frame.Home) {
	p := &h.producers
	p.mu.Lock()
	defer p.mu.Unlock()
	p.running--
	if p.loops[loop]--; p.loops[loop] == 0 {
		delete(p.loops, loop)
	}
	if p.ended != nil {
		p.ended.Broadcast()
	}
}

// Producing is the number of body writers that run. Any goroutine may call it.
func (h *HTTP) Producing() int {
	h.producers.mu.Lock()
	defer h.producers.mu.Unlock()
	return h.producers.running
}

// Wait returns when no body writer runs any more. It is called once all connections are
// closed: then each ends at its next write.
func (h *HTTP) Wait() {
	p := &h.producers
	p.mu.Lock()
	defer p.mu.Unlock()
	p.ended = sync.NewCond(&p.mu)
	for p.running > 0 {
		p.ended.Wait()
	}
}
