//go:build !race

package main

import (
	"bytes"
	"fmt"
	"net"
	"os"
	"strings"
	"sync"
	"testing"
	"time"
)

// The race detector takes memory of its own, so these tests are built without it, and so
// is their daemon.

// memorySlack is what a process may have resident above the terms that its start logs:
// the pages of the program itself.
const memorySlack = 16 * mib

// smallMemory are settings under which much less than a machine has is much.
var smallMemory = []string{"--loops", "1", "--memory", "64MiB", "--stream-memory", "8MiB", "--max-frame", "1MiB", "--ring-slots", "256", "--max-conns", "1100",
	"--index-memory", "16MiB", "--socket-buffer", "64KiB", "--frame-timeout", "0", "--write-timeout", "0", "--self-events", "100ms"}

// However many clients flood and never read, memory stays within what the start said,
// nothing is read of who is paused, and a bystander on the same loop is answered.
func TestMemoryUnderFlooders(t *testing.T) {
	for _, flooders := range []int{1, 200} {
		t.Run(fmt.Sprint(flooders), func(t *testing.T) {
			f := floodedBy(t, flooders, 2*time.Second)
			t.Logf("%+v", f)
		})
	}
}

// flooded is how a daemon fared under clients that flood and never read.
type flooded struct {
	flooders       int
	peak, bound    int64 // bytes: most that was resident, and what was said at the start with the index's part
	answered       int   // the bystander's requests
	slowest        time.Duration
	noRoom, pauses int64
}

func floodedBy(t *testing.T, flooders int, long time.Duration) flooded {
	t.Helper()
	d := start(t, smallMemory...)
	f := flooded{flooders: flooders}
	bystander := dial(t, d.addr)
	bystander.send(largeEvent())
	stop := make(chan struct{})
	var all sync.WaitGroup
	for range flooders {
		all.Go(func() { floodUntil(t, d.addr, stop) })
	}
	for until := time.Now().Add(long); time.Now().Before(until); f.answered++ {
		begin := time.Now()
		bystander.send(event("bystander", int64(f.answered)))
		f.slowest = max(f.slowest, time.Since(begin))
	}
	bystander.awaitMetric("pauses by window", atLeast(1))
	if n := bystander.metric("reads while paused"); n != 0 {
		t.Errorf("%d reads of paused connections, want none", n)
	}
	f.noRoom = bystander.metric("queries without room in memory")
	f.pauses = bystander.metric("pauses by window") + bystander.metric("pauses by memory") + bystander.metric("pauses by connection memory")
	said := d.await(message("memory at most, in bytes"))
	f.bound = said.number(t, "total") - said.number(t, "index") + bystander.metric("index held bytes")
	f.peak = residentPeak(t, d)
	if f.peak > f.bound+memorySlack {
		t.Errorf("%d bytes were resident, more than %d above the %d that the start said", f.peak, memorySlack, f.bound)
	}
	close(stop)
	all.Wait()
	bystander.done()
	d.drain()
	return f
}

// floodUntil sends requests for a large event, and reads no reply, until stop.
func floodUntil(t *testing.T, addr string, stop <-chan struct{}) {
	c := dial(t, addr)
	defer c.Close()                                                             // an error could only tell that it is closed
	if err := c.Conn.(*net.TCPConn).SetWriteBuffer(int(64 * kib)); err != nil { // a thousand large ones are more than the kernel has
		t.Error(err)
	}
	go func() {
		ask := bytes.Repeat(framed(largeQuery), 1000)
		for {
			if _, err := c.Write(ask); err != nil {
				return // closed by stop
			}
		}
	}()
	<-stop
}

// residentPeak is the most memory in bytes that the daemon had resident so far.
func residentPeak(t *testing.T, d *daemon) int64 {
	t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", d.cmd.Process.Pid))
	if err != nil {
		t.Fatal(err)
	}
	var kilobytes int64
	_, after, _ := strings.Cut(string(status), "VmHWM:")
	if _, err := fmt.Sscan(after, &kilobytes); err != nil {
		t.Fatal(err)
	}
	return kilobytes * kib
}
