package main

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"sync"
	"testing"
	"time"
)

// attack is what a hostile client sends, again and again, to one of the listeners.
type attack struct {
	name, flag string
	bytes      []byte
}

func attacks() []attack {
	large := framed(largeBody(1<<20 - 64))
	return []attack{
		{"half a frame", "--tcp", []byte{0, 0, 1, 0, 0x10}},
		{"half a large frame", "--tcp", large[:len(large)/2]},
		{"lengths of 4 GiB", "--tcp", bytes.Repeat([]byte("\xff"), 64<<10)},
		{"frames without sense", "--tcp", bytes.Repeat(framed([]byte("no Msg at all")), 5000)},
		{"queries whose replies are not read", "--tcp", bytes.Repeat(framed(largeQuery), 1000)},
		{"empty Msgs", "--tcp", make([]byte, 64<<10)},
		{"half a head", "--http", []byte("GET / HTTP/1.1\r\nHost: localhost\r\nX: ")},
		{"half a body", "--http", append([]byte("POST /events HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000000\r\n\r\n"), make([]byte, 500_000)...)},
		{"the whole index, not read", "--http", bytes.Repeat([]byte("GET /index HTTP/1.1\r\nHost: localhost\r\n\r\n"), 1000)},
		{"metrics, not read", "--http", bytes.Repeat([]byte("GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n"), 1000)},
		{"long heads", "--http", bytes.Repeat(fmt.Appendf(nil, "GET /index HTTP/1.1\r\nHost: localhost\r\nX: %s\r\n\r\n", bytes.Repeat([]byte("x"), 15_000)), 10)},
		{"a line without end", "--graphite", make([]byte, 1<<20)},
		{"lines without sense", "--graphite", bytes.Repeat([]byte("\n \xff\n"), 20_000)},
	}
}

// strike connects, sends what there is as long as it is taken, and goes: in order, or with
// a reset. It returns an error only if it can't connect.
func (a attack) strike(addr string, orderly bool) error {
	c, err := net.Dial("tcp", addr)
	if err != nil {
		return err
	}
	if err := c.SetWriteDeadline(time.Now().Add(100 * time.Millisecond)); err != nil {
		return err
	}
	for range 10 {
		if _, err := c.Write(a.bytes); err != nil { // it is paused or closed, as it deserves
			break
		}
	}
	if !orderly {
		if err := c.(*net.TCPConn).SetLinger(0); err != nil {
			return err
		}
	}
	return c.Close()
}

// All kinds of attacks at once, on the least memory that can be given, leave a bystander
// answered on each way in; afterwards nothing is held.
func TestAttacksOfAllKindsAtOnce(t *testing.T) {
	strikes := 10
	if underRace {
		strikes = 3
	}
	for _, handlers := range []string{"0", "2"} {
		t.Run("handlers="+handlers, func(t *testing.T) {
			d := start(t, "--handlers", handlers, "--loops", "2", "--ring-slots", "4", "--memory", "4MiB", "--conn-memory", "128KiB", "--stream-memory", "1MiB",
				"--max-frame", "1MiB", "--http-max-body", "1MiB", "--http-producers", "2", "--http", "127.0.0.1:0", "--graphite", "127.0.0.1:0",
				"--frame-timeout", "0", "--write-timeout", "0", "--self-events", "100ms")
			bystander := dial(t, d.addr)
			for i := range 200 {
				e := largeEvent()
				e.Service = new(fmt.Sprint("large ", i%20))
				bystander.send(e)
			}
			bystander.send(largeEvent())
			var all sync.WaitGroup
			for _, a := range attacks() {
				addr := listenerAddr(t, d, a.flag, "tcp")
				for range 4 {
					all.Go(func() {
						for range strikes {
							if err := a.strike(addr, rand.IntN(2) == 0); err != nil {
								t.Errorf("%s: %v", a.name, err)
							}
						}
					})
				}
			}
			attacked := make(chan struct{})
			go func() {
				all.Wait()
				close(attacked)
			}()
			web := "http://" + listenerAddr(t, d, "--http", "tcp") + "/healthz"
			for answered := 0; ; answered++ {
				bystander.send(event("bystander", int64(answered)))
				resp, err := http.Get(web)
				if err != nil {
					t.Fatal(err)
				}
				if body, err := io.ReadAll(resp.Body); err != nil || string(body) != "ok\n" {
					t.Fatalf("healthz: %q, %v", body, err)
				}
				resp.Body.Close() // it was read to its end
				select {
				case <-attacked:
				default:
					continue
				}
				break
			}
			http.DefaultClient.CloseIdleConnections()
			for _, gauge := range []string{"memory held bytes", "reserve taken bytes", "reserve waiting", "streams", "stream memory bytes", "index pins",
				"http producers", "connections waiting for a credit", "connections waiting for memory", "connections waiting for a turn"} {
				bystander.awaitMetric(gauge, func(n int64) bool { return n == 0 })
			}
			bystander.awaitMetric("connections", func(n int64) bool { return n == 1 })
			bystander.done()
		})
	}
}
