package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/valyala/fasthttp"
	"pgregory.net/rapid"

	"darboux/handlers/web"
)

// A stubbornOutput lets each write wait until it is told how to end.
type stubbornOutput struct {
	ends chan writeEnd
	text bytes.Buffer // what was written
}

// A writeEnd is how a write ends: whole, or with an error after so many bytes.
type writeEnd struct {
	fails bool
	after int
}

var errDiskFull = errors.New("disk full")

func (o *stubbornOutput) Write(p []byte) (int, error) {
	end := <-o.ends
	if !end.fails {
		return o.text.Write(p)
	}
	n := min(end.after, len(p)-1)
	if n > 0 && p[n] == '\n' {
		n-- // a line without its newline looks whole, and would be told as lost
	}
	o.text.Write(p[:n])
	return n, errDiskFull
}

// A logStep is a step of the model test.
type logStep struct {
	line int // bytes of a line to be logged; 0: none
	end  writeEnd
}

func logSteps() *rapid.Generator[[]logStep] {
	return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) logStep {
		if rapid.IntRange(0, 9).Draw(t, "kind") < 7 {
			return logStep{line: rapid.IntRange(20, 90).Draw(t, "line")}
		}
		return logStep{end: writeEnd{rapid.IntRange(0, 2).Draw(t, "fails") == 0, rapid.IntRange(0, 300).Draw(t, "after")}}
	}), 1, 300)
}

// Whatever the output does: lines keep their order, each gap has its notice in its place
// with the right number, and the queue stays within its limit.
func TestLogQueueModel(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		steps, limit := logSteps().Draw(r, "steps"), rapid.IntRange(100, 1000).Draw(r, "limit")
		var wrong error
		synctest.Test(t, func(*testing.T) { wrong = runLogModel(steps, limit) })
		if wrong != nil {
			r.Fatal(wrong)
		}
	})
}

func runLogModel(steps []logStep, limit int) error {
	out := &stubbornOutput{ends: make(chan writeEnd)}
	q := newLogQueue(out, limit, "text")
	go q.run()
	lines := 0
	for _, s := range steps {
		if s.line > 0 {
			q.Write(numberedLine(lines, s.line)) // never fails
			lines++
		} else {
			select {
			case out.ends <- s.end:
			default: // nothing is being written
			}
		}
		synctest.Wait()
		if q.used > limit {
			return fmt.Errorf("%d bytes wait, the limit is %d", q.used, limit)
		}
	}
	go func() {
		for {
			select {
			case out.ends <- writeEnd{}:
			case <-q.ended:
				return
			}
		}
	}()
	q.end(time.Hour)
	<-q.ended
	if err := checkLog(out.text.String(), lines); err != nil {
		return fmt.Errorf("%w; the log:\n%s", err, out.text.String())
	}
	return nil
}

func numberedLine(n, size int) []byte {
	line := fmt.Appendf(nil, "line %d ", n)
	return append(append(line, strings.Repeat("x", max(0, size-len(line)-2))...), ".\n"...)
}

var (
	wholeLine  = regexp.MustCompile(`^line (\d+) x*\.$`)
	lostNotice = regexp.MustCompile(`msg="log lines were lost" no_room=(\d+) write_failed=(\d+) limit=\S+ flag=--log-memory$`)
)

// checkLog checks a log to which lines numbered from 0 were given.
func checkLog(text string, lines int) error {
	next, torn := 0, false
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		whole, notice := wholeLine.FindStringSubmatch(line), lostNotice.FindStringSubmatch(line)
		switch {
		case whole != nil && torn:
			return fmt.Errorf("no notice stands between a torn line and %q", line)
		case whole != nil && whole[1] != strconv.Itoa(next):
			return fmt.Errorf("line %s stands where line %d should", whole[1], next)
		case whole != nil:
			next++
		case notice != nil:
			for _, n := range notice[1:] {
				lost, err := strconv.Atoi(n)
				if err != nil {
					return err
				}
				next += lost
			}
			torn = false
		default:
			torn = true
		}
	}
	if next != lines || torn {
		return fmt.Errorf("%d lines are there or told as lost, of %d; the last one is torn: %v", next, lines, torn)
	}
	return nil
}

// The end waits for an output that stands still, but not for ever.
func TestLogQueueEnd(t *testing.T) {
	for _, stuck := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			out := &stubbornOutput{ends: make(chan writeEnd)}
			q := newLogQueue(out, 1000, "text")
			go q.run()
			q.Write([]byte("last\n"))
			if !stuck {
				go func() { out.ends <- writeEnd{} }()
			}
			begin := time.Now()
			q.end(logFlush)
			took := time.Since(begin)
			if stuck {
				out.ends <- writeEnd{}
			}
			<-q.ended
			if want := map[bool]time.Duration{true: logFlush}[stuck]; took != want || out.text.String() != "last\n" {
				t.Errorf("stuck=%v: the end took %v, want %v; the log: %q", stuck, took, want, out.text.String())
			}
		})
	}
}

// A write that fails for good is tried once for each line that comes, and no more often.
func TestLogQueueWithoutReader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		out := &failingOutput{}
		q := newLogQueue(out, 1000, "text")
		go q.run()
		for i := range 10 {
			q.Write(numberedLine(i, 50))
			synctest.Wait()
		}
		if out.writes != 10 || q.lost.writeFailed != 10 {
			t.Errorf("10 lines led to %d writes, and %d are counted as lost", out.writes, q.lost.writeFailed)
		}
		q.end(logFlush)
		<-q.ended
	})
}

type failingOutput struct{ writes int }

func (o *failingOutput) Write([]byte) (int, error) {
	o.writes++
	return 0, syscall.EPIPE
}

// BenchmarkAccessLog is a line of the access log for each request, written by whoever logs
// and through the queue, into a pipe that is read; with the CPU time of the process.
func BenchmarkAccessLog(b *testing.B) {
	for _, name := range []string{"direct", "queue"} {
		b.Run(name, func(b *testing.B) {
			reader, writer, err := os.Pipe()
			if err != nil {
				b.Fatal(err)
			}
			var reading sync.WaitGroup
			reading.Go(func() { drainPipe(reader) })
			log := newLogger(writer, "info", "text")
			end := func() {}
			if name == "queue" {
				var q *logQueue
				log, q = startLog(writer, &Options{LogLevel: "info", LogFormat: "text", LogMemory: 4 * mib})
				end = func() {
					q.end(time.Minute)
					b.ReportMetric(float64(q.lost.noRoom)/float64(b.N), "lost/op")
				}
			}
			benchAccessLog(b, web.AccessLog(log))
			end()
			writer.Close()
			reading.Wait()
		})
	}
}

func drainPipe(r *os.File) {
	defer r.Close()
	for b := make([]byte, logChunk); ; {
		if _, err := r.Read(b); err != nil {
			return
		}
	}
}

func benchAccessLog(b *testing.B, observe web.Observe) {
	var ctx fasthttp.RequestCtx
	ctx.Request.SetRequestURI(`/index?query=host+%3D+"web1"`)
	b.ReportAllocs()
	before := cpuTime(b)
	for b.Loop() {
		observe(&ctx)(web.Result{Status: 200, Bytes: 1234})
	}
	b.ReportMetric(float64(cpuTime(b)-before)/float64(b.N), "cpu-ns/op")
}

// cpuTime is the CPU time that this process has used.
func cpuTime(b *testing.B) time.Duration {
	b.Helper()
	var use syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &use); err != nil {
		b.Fatal(err)
	}
	return time.Duration(use.Utime.Nano() + use.Stime.Nano())
}
