package main

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"sync"
	"time"
)

const (
	// logChunk is the most bytes of log lines that one call of write takes: what a pipe
	// holds, so that room is made again while a slow reader goes on.
	logChunk = 64 * kib
	// logFlush is how long the last log lines may take on their way at the end.
	logFlush = 2 * time.Second
)

// A logQueue keeps log lines until one goroutine has written them, so that whoever logs
// never waits for who reads the log. Lines that find no room, or can't be written, are
// lost, counted, and told by a line of their own in the place where they are missing.
type logQueue struct {
	out    *logOutput
	direct slog.Handler  // writes to out, for what is told of lost lines
	ended  chan struct{} // closed when the writer has ended

	mu         sync.Mutex
	changed    sync.Cond // of mu: there is something for the writer to do
	ring       []byte    // its length is the limit
	head, used int       // where the bytes that wait begin, and how many they are
	losing     *int64    // where lines are counted that are lost now; nil: they are taken
	ending     bool
	lost, told lostLines
}

// A logOutput writes log lines, and may block for ever. It is the writer's.
type logOutput struct {
	io.Writer
	torn bool // it ends in the middle of a line
}

func (o *logOutput) Write(p []byte) (n int, err error) {
	if n, err = o.Writer.Write(p); n > 0 {
		o.torn = p[n-1] != '\n'
	}
	return n, err
}

// lostLines are numbers of lines by why they were lost.
type lostLines struct{ noRoom, writeFailed int64 }

// startLog returns the daemon's log, of checked settings, and the queue through which its
// lines go to out. The queue is to be ended before the process is.
func startLog(out io.Writer, o *Options) (*slog.Logger, *logQueue) {
	q := newLogQueue(out, int(o.LogMemory), o.LogFormat)
	go q.run()
	return newLogger(q, o.LogLevel, o.LogFormat), q
}

// newLogQueue returns a queue of so many bytes at most, which nobody writes to out yet.
func newLogQueue(out io.Writer, limit int, format string) *logQueue {
	q := &logQueue{out: &logOutput{Writer: out}, ring: make([]byte, limit), ended: make(chan struct{})}
	q.direct = newLogger(q.out, "warn", format).Handler()
	q.changed.L = &q.mu
	return q
}

// Write takes a whole line, with its newline, or counts it as lost. It neither blocks nor
// fails; any goroutine may call it.
func (q *logQueue) Write(line []byte) (int, error) {
	q.mu.Lock()
	if q.losing == nil && len(line) > len(q.ring)-q.used {
		q.losing = &q.lost.noRoom // until all that stands before the gap is written
	}
	switch {
	case q.losing != nil:
		*q.losing++
	case !q.ending:
		q.put(line)
	}
	q.mu.Unlock()
	q.changed.Signal()
	return len(line), nil
}

// put appends to the ring what it has room for.
func (q *logQueue) put(line []byte) {
	tail := (q.head + q.used) % len(q.ring)
	n := copy(q.ring[tail:], line)
	copy(q.ring, line[n:])
	q.used += len(line)
}

// run writes what comes until the queue is ended. It is the writer, a goroutine of its own.
func (q *logQueue) run() {
	defer close(q.ended)
	q.mu.Lock()
	defer q.mu.Unlock()
	for {
		written := true
		switch {
		case q.used > 0:
			written = q.writeSome()
		case q.losing != nil:
			written = q.tellLost()
		case q.ending:
			return
		default:
			q.changed.Wait()
		}
		switch {
		case written:
		case q.ending:
			return
		default:
			q.changed.Wait() // the next line tries again
		}
	}
}

// writeSome writes the eldest of the bytes that wait. It reports whether that went well.
func (q *logQueue) writeSome() bool {
	piece := q.ring[q.head:min(q.head+q.used, q.head+int(logChunk), len(q.ring))]
	q.mu.Unlock()
	n, err := q.out.Write(piece)
	q.mu.Lock()
	q.head, q.used = (q.head+n)%len(q.ring), q.used-n
	if err != nil {
		q.lose()
		return false
	}
	if q.used == 0 {
		q.head = 0 // a log that is read in time uses little of the memory
	}
	return true
}

// tellLost writes how many lines are missing here. It reports whether that went well.
func (q *logQueue) tellLost() bool {
	lost, told := q.lost, q.told
	q.losing = nil // what comes from now on stands behind this
	q.mu.Unlock()
	err := q.tell(lost.noRoom-told.noRoom, lost.writeFailed-told.writeFailed)
	q.mu.Lock()
	if err != nil {
		q.lose()
		return false
	}
	q.told = lost
	return true
}

// tell writes a line of its own, whatever --log-level says.
func (q *logQueue) tell(noRoom, writeFailed int64) error {
	if q.out.torn {
		if _, err := q.out.Write([]byte("\n")); err != nil {
			return err
		}
	}
	r := slog.NewRecord(time.Now(), slog.LevelWarn, "log lines were lost", 0)
	r.Add("no_room", noRoom, "write_failed", writeFailed, "limit", byteSize(len(q.ring)), "flag", "--log-memory")
	return q.direct.Handle(context.Background(), r)
}

// lose gives up all that waits, after an error: to try each line would be of no more use,
// and keep the reader from knowing for longer.
func (q *logQueue) lose() {
	for q.used > 0 {
		piece := q.ring[q.head:min(q.head+q.used, len(q.ring))]
		q.lost.writeFailed += int64(bytes.Count(piece, []byte("\n")))
		q.head, q.used = (q.head+len(piece))%len(q.ring), q.used-len(piece)
	}
	q.losing = &q.lost.writeFailed
}

// end waits until all lines are written, or that long at most. Any goroutine may call it,
// and more than once; no line that comes later is taken.
func (q *logQueue) end(most time.Duration) {
	q.mu.Lock()
	q.ending = true
	q.mu.Unlock()
	q.changed.Signal()
	select {
	case <-q.ended:
	case <-time.After(most):
	}
}

// metrics are the counters and gauges of the log. Any goroutine may call it.
func (q *logQueue) metrics() []metric {
	q.mu.Lock()
	defer q.mu.Unlock()
	return []metric{
		{"log lines lost: no room", "Log lines lost because the reader of the log was too slow for --log-memory.", counter, q.lost.noRoom},
		{"log lines lost: write failed", "Log lines lost because the log could not be written.", counter, q.lost.writeFailed},
		{"log memory bytes", "Bytes of log lines that wait for the reader of the log.", gauge, int64(q.used)},
		{"log memory limit bytes", "The most bytes of log lines that wait (--log-memory).", gauge, int64(len(q.ring))},
	}
}
