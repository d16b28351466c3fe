package main

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/protobuf/encoding/protowire"

	"darboux/handlers/riemann"
)

// hoarder is a client that announces the largest frame, to hold room of the reserve: it
// sends so many bytes of it at once and then some a second.
type hoarder struct {
	name      string
	first     int
	perSecond int
	settled   time.Duration // when all of them hold what they can
}

var hoarders = []hoarder{
	{"dead", 4, 4, 2 * time.Second},
	{"slow", 4, 4200, 18 * time.Second}, // a little above the least rate
	{"fast-then-slow", 128 << 10, 4200, 2 * time.Second},
}

// hoard does so on so many connections, each of which is opened again when it is closed,
// until stop is closed.
func hoard(b *testing.B, addr string, h hoarder, conns int, stop <-chan struct{}) {
	const turns = 4 // a second
	head := make([]byte, h.first)
	binary.BigEndian.PutUint32(head, 16<<20-64)
	all := make([]net.Conn, conns)
	step := time.NewTicker(time.Second / turns)
	defer step.Stop()
	for {
		for i, c := range all {
			if c != nil {
				if stands(c, make([]byte, h.perSecond/turns)) {
					continue
				}
				c.Close()
			}
			c, err := net.Dial("tcp", addr)
			if err != nil {
				b.Error(err)
				return
			}
			c.SetDeadline(time.Now().Add(10 * time.Millisecond)) // while it waits not all is taken
			c.Write(head)
			all[i] = c
		}
		select {
		case <-stop:
			for _, c := range all {
				c.Close()
			}
			return
		case <-step.C:
		}
	}
}

// stands sends what it may and reports whether the connection is still open.
func stands(c net.Conn, more []byte) bool {
	c.SetDeadline(time.Now().Add(time.Millisecond / 10))
	if _, err := c.Write(more); err != nil && !errors.Is(err, os.ErrDeadlineExceeded) {
		return false
	}
	_, err := c.Read(make([]byte, 1))
	return errors.Is(err, os.ErrDeadlineExceeded)
}

// BenchmarkLargeFramesBesideHoarders tells how long an honest client waits at most for the
// answer to a large frame, of three, from another address and from the same, beside clients
// that hold what they can of the reserve; how long one waits with a small frame meanwhile; and
// how long it takes afterwards until nothing of theirs is left.
func BenchmarkLargeFramesBesideHoarders(b *testing.B) {
	const most = 30 * time.Second // that is waited for a frame
	for _, h := range hoarders {
		for _, conns := range []int{35, 100, 600} {
			b.Run(fmt.Sprintf("%s/conns=%d", h.name, conns), func(b *testing.B) {
				s := benchDaemon(b)
				for b.Loop() {
					stop := make(chan struct{})
					var all sync.WaitGroup
					all.Go(func() { hoard(b, s.tcp, h, conns, stop) })
					time.Sleep(h.settled)
					small := smallRequests(s.tcp, stop)
					for from, name := range map[string]string{"127.0.0.2": "", "127.0.0.1": "-same-address"} {
						for _, size := range []int{1, 16} {
							var took []float64
							for len(took) < 3 && (len(took) == 0 || took[0] < most.Seconds()) {
								took = append(took, askWith(b, from, s.tcp, size<<20-64, most).Seconds())
							}
							b.ReportMetric(slices.Max(took), fmt.Sprintf("s/%dMiB%s", size, name))
						}
					}
					close(stop)
					b.ReportMetric((<-small).Seconds()*1000, "ms/small-max")
					all.Wait()
					begin := time.Now()
					for !scraped(b, s.http, "darboux_reserve_taken_bytes 0\n") && time.Since(begin) < 2*most {
						time.Sleep(10 * time.Millisecond) // a poll, bounded by the line above
					}
					b.ReportMetric(time.Since(begin).Seconds(), "s/clear")
				}
			})
		}
	}
}

// askWith sends a Msg of so many bytes on a connection from an address and returns how long that
// and the acknowledgement took, at most limit.
func askWith(b *testing.B, from, addr string, size int, limit time.Duration) time.Duration {
	b.Helper()
	begin := time.Now()
	dialer := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}}
	c, err := dialer.Dial("tcp", addr)
	if err != nil {
		b.Fatal(err)
	}
	defer c.Close()
	if err := c.SetDeadline(begin.Add(limit)); err != nil {
		b.Fatal(err)
	}
	go c.Write(framed(protowire.AppendBytes(protowire.AppendTag(nil, 100, protowire.BytesType), make([]byte, size)))) // means nothing
	got := make([]byte, len(riemann.Ack))
	if _, err := io.ReadFull(c, got); err != nil || !bytes.Equal(got, riemann.Ack) {
		if !errors.Is(err, os.ErrDeadlineExceeded) {
			b.Errorf("a frame of %d bytes: % x, %v", size, got, err)
		}
		return limit
	}
	return time.Since(begin)
}

// smallRequests sends small requests, one after the other, and tells the slowest when stop is
// closed.
func smallRequests(addr string, stop <-chan struct{}) <-chan time.Duration {
	slowest := make(chan time.Duration, 1)
	go func() {
		var most time.Duration
		defer func() { slowest <- most }()
		c, err := net.Dial("tcp", addr)
		if err != nil {
			return
		}
		defer c.Close()
		for {
			select {
			case <-stop:
				return
			default:
			}
			begin := time.Now()
			c.Write([]byte{0, 0, 0, 0})
			if _, err := io.ReadFull(c, make([]byte, len(riemann.Ack))); err != nil {
				most = time.Hour
				return
			}
			most = max(most, time.Since(begin))
			time.Sleep(time.Millisecond) // the pace of the requests
		}
	}()
	return slowest
}

// scraped reports whether the metrics hold a line.
func scraped(b *testing.B, addr, line string) bool {
	resp, err := http.Get("http://" + addr + "/metrics")
	if err != nil {
		b.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		b.Fatal(err)
	}
	return strings.Contains(string(text), line)
}
