package run

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"darboux/loadtest/proc"
	"darboux/loadtest/stub"
	"darboux/loadtest/wire"
	"darboux/loadtest/workload"
)

// beSink makes this test binary a server that acknowledges every frame unseen,
// in a process of its own so that its CPU is not the client's.
const beSink = "DARBOUX_LOAD_TEST_SINK"

func TestMain(m *testing.M) {
	if os.Getenv(beSink) != "" {
		sink()
		return
	}
	os.Exit(m.Run())
}

// sink serves until its standard input ends, as it does with its parent.
func sink() {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	fmt.Println(l.Addr())
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go acknowledge(c)
		}
	}()
	if _, err := io.Copy(io.Discard, os.Stdin); err != nil {
		panic(err)
	}
}

func acknowledge(c net.Conn) {
	defer c.Close()
	acks := bytes.Repeat(stub.Ack, 64<<10)
	in, have := make([]byte, 256<<10), 0
	for {
		n, err := c.Read(in[have:])
		if err != nil {
			return
		}
		have += n
		frames, used := wholeFrames(in[:have])
		have = copy(in, in[used:have])
		if have == len(in) {
			in = append(in, make([]byte, len(in))...)
		}
		if _, err := c.Write(acks[:6*frames]); err != nil {
			return
		}
	}
}

// wholeFrames counts the whole frames at the head of b, and their bytes.
func wholeFrames(b []byte) (frames, used int) {
	for len(b)-used >= 4 {
		next := used + 4 + int(binary.BigEndian.Uint32(b[used:]))
		if next > len(b) {
			break
		}
		frames, used = frames+1, next
	}
	return frames, used
}

func startSink(b *testing.B) string {
	b.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), beSink+"=1")
	stdin, err := cmd.StdinPipe()
	if err != nil {
		b.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		stdin.Close()
		if err := cmd.Wait(); err != nil {
			b.Error(err)
		}
	})
	addr, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil {
		b.Fatal(err)
	}
	return strings.TrimSpace(addr)
}

// bare is the least a client can do: it writes the same bytes again and again
// and counts acknowledgements by their length.
func bare(b *testing.B, addr string, w *workload.Workload, connections, pipeline int, d time.Duration) (msgs int64) {
	var one workload.Outbox
	w.Source(0, nil).Append(&one, 1, 1)
	size := len(one.Bytes())
	var done sync.WaitGroup
	var mu sync.Mutex
	end := time.Now().Add(d)
	for range connections {
		done.Go(func() {
			c, err := net.Dial("tcp", addr)
			if err != nil {
				b.Error(err)
				return
			}
			defer c.Close()
			burst := bytes.Repeat(one.Bytes(), pipeline)
			in, acks, rest := make([]byte, readBuffer), int64(0), 0
			send := pipeline
			for time.Now().Before(end) {
				if _, err := c.Write(burst[:send*size]); err != nil {
					b.Error(err)
					return
				}
				n, err := c.Read(in)
				if err != nil {
					b.Error(err)
					return
				}
				send, rest = (rest+n)/6, (rest+n)%6
				acks += int64(send)
			}
			mu.Lock()
			msgs += acks
			mu.Unlock()
		})
	}
	done.Wait()
	return msgs
}

// BenchmarkCost compares the client's CPU for a Msg with the bare loop's, in
// turns against one server. Run it with -benchtime=5x or so: each iteration is
// a pair of half-second runs.
func BenchmarkCost(b *testing.B) {
	for _, shape := range []struct{ connections, pipeline, batch int }{
		{1, 1, 1}, {8, 1, 1}, {8, 64, 1}, {8, 64, 100}, {256, 1, 1},
	} {
		b.Run(fmt.Sprintf("c%d_d%d_b%d", shape.connections, shape.pipeline, shape.batch), func(b *testing.B) {
			addr := startSink(b)
			w := plainLoad(b, shape.connections, func(c *workload.Config) { c.Batch = shape.batch })
			var client, reference, ratios, allocs []float64
			for range b.N {
				const d = 500 * time.Millisecond
				before := proc.Now()
				n := bare(b, addr, w, shape.connections, shape.pipeline, d)
				reference = append(reference, float64(proc.Now().Since(before).CPU)/float64(n))
				c := Config{
					Dial: wire.DialTCP(addr, time.Second), Workload: w, Connections: shape.connections,
					Pipeline: shape.pipeline, Duration: d, Timeout: 10 * time.Second, Sleeper: NewTimer,
				}
				before = proc.Now()
				out := mustRun(b, c)
				spent := proc.Now().Since(before)
				client = append(client, float64(spent.CPU)/float64(out.Total.All.OK))
				allocs = append(allocs, float64(spent.Allocs)/float64(out.Total.All.OK))
				ratios = append(ratios, client[len(client)-1]/reference[len(reference)-1])
			}
			b.ReportMetric(median(reference), "bare-ns/Msg")
			b.ReportMetric(median(client), "client-ns/Msg")
			b.ReportMetric(median(ratios), "ratio")
			b.ReportMetric(median(allocs), "allocs/Msg")
			b.ReportMetric(0, "ns/op")
		})
	}
}

func median(v []float64) float64 {
	v = slices.Sorted(slices.Values(v))
	return v[len(v)/2]
}

// A request in the steady state allocates nothing: twice as many requests cost
// no more allocations than a connection's set-up.
func TestARequestAllocatesNothing(t *testing.T) {
	measure := func(count int64) (allocs int64) {
		l := listen(t)
		defer l.Close()
		c := Config{
			Dial: wire.DialTCP(l.Addr().String(), 10*time.Second), Workload: plainLoad(t, 2, nil), Connections: 2,
			Pipeline: 16, Duration: time.Minute, Count: count, Timeout: 20 * time.Second, Sleeper: NewTimer,
		}
		before := proc.Now()
		if out := mustRun(t, c); out.Total.All.OK != count {
			t.Fatalf("%+v, %v", out.Total.All, out.Errors)
		}
		return proc.Now().Since(before).Allocs
	}
	measure(1000)
	few, many := measure(1000), measure(101_000)
	// The server of this test shares the process and, like the client, allocates
	// for each second and each connection, not for each request.
	if perRequest := float64(many-few) / 100_000; perRequest > 0.02 {
		t.Errorf("%.4f allocations a request", perRequest)
	}
}

func listen(t *testing.T) net.Listener {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go acknowledge(c)
		}
	}()
	return l
}
