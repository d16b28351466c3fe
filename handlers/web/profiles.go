package web

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"runtime"
	"runtime/pprof"
	"runtime/trace"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/valyala/fasthttp"
)

// mostProfileSeconds bounds a profile over time.
const mostProfileSeconds = 120

// profiles answers with the runtime's profiles, as go tool pprof asks for them.
func profiles(ctx *fasthttp.RequestCtx) {
	name := strings.TrimPrefix(string(ctx.Path()), pprofPath)
	want, err := readProfileWish(ctx)
	if err != nil {
		failParameters(ctx, err)
		return
	}
	ctx.SetContentType("application/octet-stream")
	switch name {
	case "":
		ctx.SetContentType(plainText)
		ctx.SetBodyString(profileList())
	case "cmdline":
		ctx.SetContentType(plainText)
		ctx.SetBodyString(strings.Join(os.Args, "\x00"))
	case "profile":
		Write(ctx, -1, func(w io.Writer) error { return over(w, want.length, pprof.StartCPUProfile, pprof.StopCPUProfile) })
	case "trace":
		Write(ctx, -1, func(w io.Writer) error { return over(w, want.length, trace.Start, trace.Stop) })
	default:
		writeProfile(ctx, name, want.form, want.collect)
	}
}

// profileWish is how a profile is wanted.
type profileWish struct {
	length  time.Duration // over which it is gathered
	form    int           // 0 is as go tool pprof reads it, a larger one text
	collect bool          // garbage first
}

func readProfileWish(ctx *fasthttp.RequestCtx) (w profileWish, err error) {
	p, err := readParameters(ctx, "seconds", "debug", "gc")
	if err != nil {
		return w, err
	}
	seconds, err := strconv.Atoi(cmp.Or(p["seconds"], "30"))
	if err != nil || seconds < 1 || seconds > mostProfileSeconds {
		return w, fmt.Errorf("seconds %.60q: must be a whole number from 1 to %d", p["seconds"], mostProfileSeconds)
	}
	w.length = time.Duration(seconds) * time.Second
	if w.form, err = strconv.Atoi(cmp.Or(p["debug"], "0")); err != nil || w.form < 0 {
		return w, fmt.Errorf("debug %.60q: must be a whole number from 0", p["debug"])
	}
	w.collect, err = p.flag("gc")
	return w, err
}

func profileList() string {
	var b strings.Builder
	fmt.Fprintf(&b, "profile?seconds=30 (CPU)\ntrace?seconds=5\ncmdline\n")
	for _, p := range pprof.Profiles() {
		fmt.Fprintf(&b, "%s (%d), ?debug=1 for text\n", p.Name(), p.Count())
	}
	return b.String()
}

func writeProfile(ctx *fasthttp.RequestCtx, name string, form int, collect bool) {
	p := pprof.Lookup(name)
	if p == nil {
		Fail(ctx, fasthttp.StatusNotFound, "there is no such profile")
		return
	}
	if form > 0 {
		ctx.SetContentType(plainText)
	}
	Write(ctx, -1, func(w io.Writer) error {
		if collect && name == "heap" {
			runtime.GC()
		}
		return p.WriteTo(w, form)
	})
}

// sharedWriter lets the goroutine that gathers write while another looks.
type sharedWriter struct {
	mu sync.Mutex
	w  io.Writer
}

func (s *sharedWriter) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.w.Write(p)
}

// lookEvery is how often the writer of a profile over time looks whether its client is
// still there.
const lookEvery = 100 * time.Millisecond

// over writes what is gathered between start and stop.
func over(w io.Writer, length time.Duration, start func(io.Writer) error, stop func()) error {
	shared := &sharedWriter{w: w}
	if err := start(shared); err != nil {
		return &StatusError{fasthttp.StatusConflict, err.Error()}
	}
	defer stop()
	for end := time.Now().Add(length); time.Now().Before(end); time.Sleep(lookEvery) {
		if _, err := shared.Write(nil); err != nil {
			return err
		}
	}
	return nil
}
