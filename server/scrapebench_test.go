package main

import (
	"io"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"darboux/handlers/riemann"
	"darboux/handlers/riemann/pb"
)

// BenchmarkScrape tells what a scrape of /metrics costs while events come in as fast as
// they are taken: from CPU time and events of the server with scrapes, one behind the
// other, and without, in turns. One scrape a second then costs that part of a core.
func BenchmarkScrape(b *testing.B) {
	s := benchDaemon(b)
	p := &benchProcess{}
	p.pid = s.pid
	stop := ingest(b, s.tcp, 4)
	defer stop()
	var cost []float64 // ms of CPU a scrape
	events := func() int64 { return ingested.Load() }
	turn := func(scrape bool) (cpu time.Duration, taken, scrapes int64) {
		cpu, taken = -p.cpu(b), -events()
		for end := time.Now().Add(2 * time.Second); time.Now().Before(end); {
			if !scrape {
				time.Sleep(time.Until(end))
				break
			}
			resp, err := http.Get("http://" + s.http + "/metrics")
			if err != nil {
				b.Fatal(err)
			}
			io.Copy(io.Discard, resp.Body)
			resp.Body.Close()
			scrapes++
		}
		return cpu + p.cpu(b), taken + events(), scrapes
	}
	for b.Loop() {
		for range 5 {
			cpu, taken, _ := turn(false)
			perEvent := cpu.Seconds() / float64(taken)
			cpu, taken, scrapes := turn(true)
			cost = append(cost, 1000*(cpu.Seconds()-perEvent*float64(taken))/float64(scrapes))
		}
	}
	row := benchRow{PerCPUSecond: cost}
	b.ReportMetric(row.median(), "cpu-ms/scrape")
	b.ReportMetric(row.median()/10, "%-of-a-core-at-1/s")
}

// benchAddresses are those of a started daemon.
type benchAddresses struct {
	tcp, http string
	pid       int
}

// benchDaemon starts the daemon with HTTP.
func benchDaemon(b *testing.B) benchAddresses {
	b.Helper()
	path, err := plainBinary()
	if err != nil {
		b.Fatal(err)
	}
	tcp, web := freeAddress(b), freeAddress(b)
	cmd := quietCommand(path, "--tcp", tcp, "--udp=", "--http", web)
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait()
	})
	for limit := time.Now().Add(patience); ; time.Sleep(time.Millisecond) {
		if c, err := net.Dial("tcp", web); err == nil {
			c.Close()
			return benchAddresses{tcp, web, cmd.Process.Pid}
		}
		if time.Now().After(limit) {
			b.Fatal("the daemon does not listen")
		}
	}
}

// freeAddress is an address that was free a moment ago.
func freeAddress(b *testing.B) string {
	b.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// ingested is the number of events that were acknowledged.
var ingested atomic.Int64

// ingest sends events on so many connections, 100 a Msg and 16 Msgs outstanding, until
// the function that it returns is called.
func ingest(b *testing.B, addr string, conns int) (stop func()) {
	b.Helper()
	msg := &pb.Msg{}
	for i := range 100 {
		msg.Events = append(msg.Events, event("service "+string(rune('a'+i%26)), int64(i)))
	}
	body, err := proto.Marshal(msg)
	if err != nil {
		b.Fatal(err)
	}
	var done atomic.Bool
	var clients sync.WaitGroup
	for range conns {
		c, err := net.Dial("tcp", addr)
		if err != nil {
			b.Fatal(err)
		}
		clients.Go(func() {
			defer c.Close()
			var frames []byte
			for range 16 {
				frames = append(frames, framed(body)...)
			}
			acks := make([]byte, 16*len(riemann.Ack))
			for !done.Load() {
				if _, err := c.Write(frames); err != nil {
					return
				}
				if _, err := io.ReadFull(c, acks); err != nil {
					return
				}
				ingested.Add(1600)
			}
		})
	}
	return func() {
		done.Store(true)
		clients.Wait()
	}
}
