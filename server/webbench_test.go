package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/valyala/fasthttp"
	"go.opentelemetry.io/otel/trace/noop"

	"darboux/frame"
	"darboux/handlers"
	"darboux/handlers/web"
	"darboux/loop"
)

// This file measures HTTP beside fasthttp's own server and net/http: the same two
// answers, each server in a process of its own, in turns, driven by wrk and by a
// pipelining client, and judged by the CPU time of its process.

// benchServer, in the environment, makes this test binary one of the servers.
const benchServer = "DARBOUX_BENCH_SERVER"

// oneKiB is a JSON answer of 1,024 bytes.
var oneKiB = []byte(`{"text":"` + string(pattern(1024-11)) + `"}`)

// benchHandler gives the answers that are measured.
func benchHandler(ctx *fasthttp.RequestCtx) {
	if string(ctx.Path()) == "/json" {
		ctx.SetContentType("application/json")
		ctx.SetBody(oneKiB)
		return
	}
	ctx.SetContentType("text/plain; charset=utf-8")
	ctx.SetBodyString("ok\n")
}

// benchServers are the servers by name. Each prints nothing and returns never.
var benchServers = map[string]func(announced) error{
	"darboux": func(l announced) error {
		return serveBench(l, runtime.GOMAXPROCS(0), allBrief)
	},
	"darboux-handed-over": func(l announced) error { return serveBench(l, runtime.GOMAXPROCS(0), func(*web.HTTP) {}) },
	"darboux-on-the-loop": func(l announced) error { return serveBench(l, 0, allBrief) },
	"darboux-traced": func(l announced) error {
		return serveBench(l, runtime.GOMAXPROCS(0), func(h *web.HTTP) { h.Observe = web.Traces(noop.NewTracerProvider()) })
	},
	"fasthttp": func(l announced) error {
		l.announce()
		return (&fasthttp.Server{Handler: benchHandler}).Serve(l)
	},
	"net-http": func(l announced) error {
		l.announce()
		return http.Serve(l, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/json" {
				w.Header().Set("Content-Type", "application/json")
				w.Write(oneKiB)
				return
			}
			w.Header().Set("Content-Type", "text/plain; charset=utf-8")
			io.WriteString(w, "ok\n")
		}))
	},
}

func allBrief(h *web.HTTP) { h.Brief = func([]byte) bool { return true } }

// serveBench serves benchHandler on the loops, at the listener's address. Both answers are
// brief if change says so; else all is handed over to handlers, if there are any.
func serveBench(l announced, poolSize int, change func(*web.HTTP)) error {
	addr := l.Addr().String()
	if err := l.Close(); err != nil {
		return err
	}
	h := &web.HTTP{
		MaxHead: frame.Limit{Value: 16 << 10}, MaxBody: frame.Limit{Value: 1 << 20}, Producers: frame.Limit{Value: 256},
		IdleTimeout: time.Minute, Handler: benchHandler, Report: func(string, string, string) {},
	}
	change(h)
	cfg := loop.Config{
		Loops: max(1, runtime.GOMAXPROCS(0)/4), Protocols: []*frame.Protocol{h.Protocol()},
		ConnMemory: frame.Limit{Value: 256 << 10}, Memory: frame.Limit{Value: 1 << 30}, MaxConns: frame.Limit{Value: 10_000},
		FrameTimeout: 10 * time.Second, WriteTimeout: 10 * time.Second, Report: func(string, string, string) {},
	}
	if poolSize > 0 {
		cfg.Ring = frame.NewRing[*frame.Burst](1024)
	}
	group, err := loop.New(cfg)
	if err != nil {
		return err
	}
	if poolSize > 0 {
		handlers.NewPool(poolSize, cfg.Ring, cfg.Protocols)
	}
	if _, err := group.Listen(addr, 0); err != nil {
		return err
	}
	group.Start()
	l.announce()
	select {}
}

// announced prints a listener's address when it is asked to accept.
type announced struct{ net.Listener }

func (l announced) announce() { fmt.Println("serving", l.Addr()) }

// TestBenchServer is a server that a benchmark started; by itself it is nothing.
func TestBenchServer(t *testing.T) {
	serve := benchServers[os.Getenv(benchServer)]
	if serve == nil {
		return
	}
	go func() {
		if _, err := io.Copy(io.Discard, os.Stdin); err != nil { // the end of the benchmark
			fmt.Fprintln(os.Stderr, "reading the standard input:", err)
			os.Exit(1)
		}
		os.Exit(0)
	}()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Fatal(serve(announced{l}))
}

// benchProcess is a server in a process of its own.
type benchProcess struct {
	cmd  *exec.Cmd
	pid  int
	stop io.Closer
	addr string
}

func startBench(b *testing.B, name string) *benchProcess {
	b.Helper()
	exe, err := os.Executable()
	if err != nil {
		b.Fatal(err)
	}
	if name == branchServer {
		exe, name = os.Getenv("DARBOUX_BENCH_BRANCH"), "darboux"
	}
	p := &benchProcess{cmd: exec.Command(exe, "-test.run", "^TestBenchServer$")}
	p.cmd.Env = append(os.Environ(), benchServer+"="+name)
	stdin, err := p.cmd.StdinPipe()
	if err != nil {
		b.Fatal(err)
	}
	stdout, err := p.cmd.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := p.cmd.Start(); err != nil {
		b.Fatal(err)
	}
	p.stop, p.cmd.Stderr = stdin, os.Stderr
	p.pid = p.cmd.Process.Pid
	line, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil || !strings.HasPrefix(line, "serving ") {
		b.Fatalf("the server %s says %q, %v", name, line, err)
	}
	p.addr = strings.TrimSpace(strings.TrimPrefix(line, "serving "))
	return p
}

// end ends the process; it must not have ended before.
func (p *benchProcess) end(b *testing.B) {
	b.Helper()
	p.stop.Close()
	if err := p.cmd.Wait(); err != nil {
		b.Errorf("the server ended by itself: %v", err)
	}
}

// quietCommand is a command of which nothing is shown.
func quietCommand(path string, args ...string) *exec.Cmd {
	cmd := exec.Command(path, args...)
	cmd.Env = []string{"DARBOUX_SELF_EVENTS=0"}
	return cmd
}

// cpu is the CPU time that the process has used, as /proc tells it.
func (p *benchProcess) cpu(b *testing.B) time.Duration {
	b.Helper()
	stat, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(p.pid), "stat"))
	if err != nil {
		b.Fatal(err)
	}
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	ticks := 0
	for _, f := range fields[11:13] { // utime and stime, in hundredths of a second (proc(5))
		n, err := strconv.Atoi(f)
		if err != nil {
			b.Fatal(err)
		}
		ticks += n
	}
	return time.Duration(ticks) * 10 * time.Millisecond
}

// measure drives the server, again if it got so little CPU time meanwhile, on a machine
// that others keep busy, that nothing can be said; and returns how many requests it
// answered, and the CPU time that this took it.
func (p *benchProcess) measure(b *testing.B, drive func() int) (n int, used time.Duration) {
	b.Helper()
	const least = 200 * time.Millisecond // the clock of /proc goes by hundredths of a second
	before := p.cpu(b)
	for range 20 {
		n += drive()
		if used = p.cpu(b) - before; used >= least {
			return n, used
		}
	}
	b.Fatalf("the server got %v of CPU time in 20 runs; want %v", used, least)
	return 0, 0
}

// byWrk drives a server by wrk with 256 connections and returns the number of requests.
func byWrk(b *testing.B, addr, path string, length time.Duration) int {
	b.Helper()
	out, err := exec.Command("wrk", "-t1", "-c256", fmt.Sprintf("-d%ds", max(1, int(length.Seconds()))), "http://"+addr+path).CombinedOutput()
	m := regexp.MustCompile(`(\d+) requests in`).FindSubmatch(out)
	if err != nil || m == nil || bytes.Contains(out, []byte("Non-2xx")) || bytes.Contains(out, []byte("Socket errors")) {
		b.Fatalf("wrk: %v\n%s", err, out)
	}
	n, _ := strconv.Atoi(string(m[1]))
	return n
}

// pipelined drives a server by 8 connections with 16 requests outstanding each, sent and
// read together, and returns the number of requests.
func pipelined(b *testing.B, addr, path string, length time.Duration) int {
	b.Helper()
	const depth = 16
	requests := []byte(strings.Repeat("GET "+path+" HTTP/1.1\r\nHost: "+addr+"\r\n\r\n", depth))
	ctx, cancel := context.WithTimeout(context.Background(), length)
	defer cancel()
	var clients sync.WaitGroup
	counts := make([]int, 8)
	for i := range counts {
		clients.Go(func() {
			c, err := net.Dial("tcp", addr)
			if err != nil {
				b.Error(err)
				return
			}
			defer c.Close()
			size := 0 // of a reply: all are of the same length
			r := bufio.NewReaderSize(c, 64<<10)
			for ctx.Err() == nil {
				if _, err := c.Write(requests); err != nil {
					b.Error(err)
					return
				}
				if size == 0 {
					size = replySize(b, r)
					r.Discard((depth - 1) * size)
				} else if _, err := r.Discard(depth * size); err != nil {
					b.Error(err)
					return
				}
				counts[i] += depth
			}
		})
	}
	clients.Wait()
	total := 0
	for _, n := range counts {
		total += n
	}
	return total
}

// replySize reads a reply and returns its length in bytes.
func replySize(b *testing.B, r *bufio.Reader) int {
	b.Helper()
	size := 0
	body := 0
	for {
		line, err := r.ReadString('\n')
		if err != nil {
			b.Error(err)
			return 1
		}
		size += len(line)
		if n, ok := strings.CutPrefix(line, "Content-Length: "); ok {
			body, _ = strconv.Atoi(strings.TrimSpace(n))
		}
		if line == "\r\n" {
			r.Discard(body)
			return size + body
		}
	}
}

// benchRow is a result: thousand requests per second of the server's CPU time, one
// figure a round.
type benchRow struct {
	Load, Path, Server string
	PerCPUSecond       []float64
}

func (r *benchRow) median() float64 {
	sorted := slices.Sorted(slices.Values(r.PerCPUSecond))
	return sorted[len(sorted)/2]
}

// branchServer is the server of a test binary of another branch of this package, which
// DARBOUX_BENCH_BRANCH names.
const branchServer = "branch"

// BenchmarkHTTPServers compares the servers. DARBOUX_BENCH_SECONDS is how long each
// measurement takes (default 2), DARBOUX_BENCH_ROUNDS how often all take turns (default
// 3), DARBOUX_BENCH_ONLY the servers with blanks between them, DARBOUX_BENCH_OUT the file
// that the result goes to.
func BenchmarkHTTPServers(b *testing.B) {
	if _, err := exec.LookPath("wrk"); err != nil {
		b.Skip("LEFT OUT: wrk is not installed (Debian package wrk)")
	}
	names := []string{"darboux", "darboux-handed-over", "darboux-on-the-loop", "darboux-traced", "fasthttp", "net-http"}
	if os.Getenv("DARBOUX_BENCH_BRANCH") != "" {
		names = append(names, branchServer)
	}
	if only := os.Getenv("DARBOUX_BENCH_ONLY"); only != "" {
		names = strings.Fields(only)
	}
	length := time.Duration(benchNumber("DARBOUX_BENCH_SECONDS", 2)) * time.Second
	loads := []struct {
		name  string
		drive func(*testing.B, string, string, time.Duration) int
	}{{"wrk, 256 connections", byWrk}, {"pipelined, 8 connections x 16", pipelined}}
	rows := map[string]*benchRow{}
	var order []*benchRow
	for b.Loop() {
		for range benchNumber("DARBOUX_BENCH_ROUNDS", 3) {
			for _, load := range loads {
				for _, path := range []string{"/healthz", "/json"} {
					for _, name := range names {
						p := startBench(b, name)
						load.drive(b, p.addr, path, 200*time.Millisecond)
						n, used := p.measure(b, func() int { return load.drive(b, p.addr, path, length) })
						p.end(b)
						key := load.name + path + name
						if rows[key] == nil {
							rows[key] = &benchRow{Load: load.name, Path: path, Server: name}
							order = append(order, rows[key])
						}
						rows[key].PerCPUSecond = append(rows[key].PerCPUSecond, float64(n)/1000/used.Seconds())
					}
				}
			}
		}
	}
	for _, r := range order {
		ratio := ""
		if ref := rows[r.Load+r.Path+"fasthttp"]; ref != nil {
			ratio = fmt.Sprintf("%.2f x fasthttp", r.median()/ref.median())
		}
		fmt.Printf("%-30s %-9s %-20s %8.1f k requests per CPU second  %s  %.1f\n", r.Load, r.Path, r.Server, r.median(), ratio, r.PerCPUSecond)
	}
	if path := os.Getenv("DARBOUX_BENCH_OUT"); path != "" {
		writeBench(b, path, order)
	}
}

func benchNumber(name string, otherwise int) int {
	if n, err := strconv.Atoi(os.Getenv(name)); err == nil {
		return n
	}
	return otherwise
}

// writeBench writes the result with the machine and the commit that it is of.
func writeBench(b *testing.B, path string, rows []*benchRow) {
	b.Helper()
	commit, _ := exec.Command("git", "rev-parse", "--short", "HEAD").Output()
	result := map[string]any{
		"command": "make bench-http", "commit": strings.TrimSpace(string(commit)), "go": runtime.Version(),
		"cpu": cpuModel(), "cores": runtime.NumCPU(), "load_average_at_the_end": loadAverage(), "unit": "thousand requests per second of the server's CPU time", "rows": rows,
	}
	text, err := json.MarshalIndent(result, "", "  ")
	if err != nil {
		b.Fatal(err)
	}
	if err := os.WriteFile(path, append(text, '\n'), 0o644); err != nil {
		b.Fatal(err)
	}
}

// loadAverage tells how busy the machine was; the servers and their clients are in it.
func loadAverage() string {
	b, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return "unknown"
	}
	return strings.Join(strings.Fields(string(b))[:3], " ")
}

func cpuModel() string {
	info, err := os.ReadFile("/proc/cpuinfo")
	if err != nil {
		return "unknown"
	}
	if m := regexp.MustCompile(`(?m)^model name\s*: (.*)$`).FindSubmatch(info); m != nil {
		return string(m[1])
	}
	return "unknown"
}
