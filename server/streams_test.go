package main

import (
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
	"google.golang.org/protobuf/proto"

	"darboux/handlers/riemann/pb"
)

// A crowd is so many events that all carry a tag. Those of a third of its keys are only
// overwritten, those of another are deleted and come again, and those of the last expire.
type crowd struct {
	keys, size int // events, and about the bytes of each
}

const crowdQuery = `tagged "crowd"`

// event is what a key is in a round. Its description tells whose it is, and its length.
func (k crowd) event(key, round int) *pb.Event {
	size := k.size
	if round > 0 {
		size = 1 + (key*31+round*97)%(2*k.size)
	}
	e := event(fmt.Sprint("crowd ", key), int64(round))
	e.Tags, e.Description, e.Ttl = []string{"crowd"}, proto.String(crowdText(key, size)), proto.Float32(3600)
	switch {
	case round == 0:
	case key%3 == 1 && round%2 == 1:
		e.State = proto.String("expired")
	case key%3 == 2 && round%2 == 1:
		e.Time, e.Ttl = proto.Int64(1), proto.Float32(1)
	}
	return e
}

func crowdText(key, size int) string { return strings.Repeat(string(rune('a'+(key+size)%26)), size) }

// send gives the server a round of the crowd.
func (k crowd) send(c *client, round int) {
	const per = 500
	for first := 0; first < k.keys; first += per {
		var events []*pb.Event
		for key := first; key < min(first+per, k.keys); key++ {
			events = append(events, k.event(key, round))
		}
		c.send(events...)
	}
}

// changeUntil sends one round after the other, until stop, and counts them.
func (k crowd) changeUntil(c *client, rounds *atomic.Int64, stop <-chan struct{}) {
	for {
		select {
		case <-stop:
			return
		default:
			k.send(c, int(rounds.Add(1)))
		}
	}
}

// check looks at a reply: each key at most once, none missing that stayed, none torn.
func (k crowd) check(t *testing.T, reply *pb.Msg) {
	t.Helper()
	if !reply.GetOk() {
		t.Fatalf("error %q", reply.GetError())
	}
	seen := map[string]bool{}
	for _, e := range reply.Events {
		if seen[e.GetService()] {
			t.Errorf("%s is there twice", e.GetService())
		}
		seen[e.GetService()] = true
		var key int
		if _, err := fmt.Sscanf(e.GetService(), "crowd %d", &key); err != nil {
			t.Fatalf("%q: %v", e.GetService(), err)
		}
		if d := e.GetDescription(); d != crowdText(key, len(d)) {
			t.Errorf("%s is torn: %d bytes, %.60q", e.GetService(), len(d), d)
		}
	}
	for key := 0; key < k.keys; key += 3 {
		if !seen[fmt.Sprint("crowd ", key)] {
			t.Errorf("crowd %d stayed, and is missing", key)
		}
	}
}

// dialSmall connects with a receive buffer of so many bytes.
func dialSmall(t *testing.T, addr string, buffer int) net.Conn {
	t.Helper()
	dialer := net.Dialer{Control: func(_, _ string, raw syscall.RawConn) (err error) {
		failed := raw.Control(func(fd uintptr) { err = unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_RCVBUF, buffer) })
		if failed != nil {
			return failed
		}
		return err
	}}
	c, err := dialer.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() }) // most tests have closed it
	return c
}

// kernelBuffers is a flag by which the kernel takes so little of a reply (some 200 KB, with
// the reader's buffer) that most of it stays with the daemon.
var kernelBuffers = []string{"--socket-buffer", "64KiB"}

// largeReply are keys whose replies are large against what the kernel takes, whatever
// becomes of two thirds of them: 10 MB, or less where everything is slow.
func largeReply(slow bool) crowd {
	if slow {
		return crowd{keys: 4_000, size: 500}
	}
	return crowd{keys: 20_000, size: 500}
}

// A reply of 10 MB to a reader with a receive buffer of 8 KiB is whole, while its keys are
// overwritten with other sizes, deleted and expired; and costs what LIMITS says.
func TestALargeReplyWhileItsKeysChange(t *testing.T) {
	const streamMemory, pauses = 64 << 20, 10
	k := largeReply(underRace)
	d := start(t, append(kernelBuffers, "--self-events", "100ms", "--expire-every", "50ms", "--stream-memory", "64MiB", "--loops", "1", "--write-timeout", "0")...)
	writer, bystander := dial(t, d.addr), dial(t, d.addr)
	k.send(writer, 0)
	stop := make(chan struct{})
	var rounds atomic.Int64
	var changing sync.WaitGroup
	changing.Go(func() { k.changeUntil(writer, &rounds, stop) })
	reader := dialSmall(t, d.addr, 8<<10)
	if _, err := reader.Write(encoded(t, queryMsg(crowdQuery))); err != nil {
		t.Fatal(err)
	}
	var header [4]byte
	if _, err := io.ReadFull(patient{reader}, header[:]); err != nil {
		t.Fatal(err)
	}
	body := make([]byte, binary.BigEndian.Uint32(header[:]))
	most := map[string]int64{}
	for got := 0; got < len(body); {
		end := min(len(body), got+len(body)/pauses)
		if _, err := io.ReadFull(patient{reader}, body[got:end]); err != nil {
			t.Fatal(err)
		}
		got = end
		limit := newDeadline(t)
		for before := rounds.Load(); rounds.Load() == before; limit.check("nothing changes") {
			for _, name := range []string{"memory held bytes", "stream memory bytes", "index orphan bytes"} {
				most[name] = max(most[name], bystander.metric(name))
			}
		}
	}
	close(stop)
	changing.Wait()
	reply := &pb.Msg{}
	if err := proto.Unmarshal(body, reply); err != nil {
		t.Fatal(err)
	}
	k.check(t, reply)
	t.Logf("%d bytes, %d rounds of changes meanwhile; at most %v", len(body), rounds.Load(), most)
	if most["index orphan bytes"] == 0 {
		t.Error("nothing was kept of what was changed")
	}
	if most["memory held bytes"] > 4*256<<10 || most["stream memory bytes"] > streamMemory {
		t.Errorf("at most %v", most)
	}
	nothingKept(bystander)
	writer.done()
	if err := reader.Close(); err != nil {
		t.Fatal(err)
	}
	d.drainAfter(bystander)
}

// nothingKept waits until nothing is kept for a reply.
func nothingKept(bystander *client) {
	bystander.t.Helper()
	for _, name := range []string{"streams", "stream memory bytes", "index orphan bytes", "index pins"} {
		bystander.awaitMetric(name, func(n int64) bool { return n == 0 })
	}
}

// A stopped reader has asked for the crowd and read the length of the reply, and reads no
// more for now.
type stopped struct {
	net.Conn
	length uint32
}

func stopAfterLength(t *testing.T, d *daemon) stopped {
	t.Helper()
	c := dialSmall(t, d.addr, 8<<10)
	if _, err := c.Write(encoded(t, queryMsg(crowdQuery))); err != nil {
		t.Fatal(err)
	}
	var header [4]byte
	if _, err := io.ReadFull(patient{c}, header[:]); err != nil {
		t.Fatal(err)
	}
	return stopped{c, binary.BigEndian.Uint32(header[:])}
}

// rest reads on, closes, and returns the reply if it comes whole, else nil.
func (s stopped) rest(t *testing.T) *pb.Msg {
	t.Helper()
	reply, err := readRest(s, s.length)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	return reply
}

// Fifty readers of large replies stop. The timeout closes them all, and everything is
// released.
func TestReadersOfLargeRepliesThatStop(t *testing.T) {
	const readers = 50
	k := largeReply(underRace)
	d := start(t, append(kernelBuffers, "--self-events", "100ms", "--expire-every", "50ms", "--write-timeout", "1s")...)
	writer, bystander := dial(t, d.addr), dial(t, d.addr)
	k.send(writer, 0)
	var all []stopped
	for range readers {
		all = append(all, stopAfterLength(t, d))
	}
	limit := newDeadline(t)
	for round := 1; bystander.metric("connections closed: write timeout") < readers; round++ {
		limit.check("not all are closed")
		k.send(writer, round)
	}
	nothingKept(bystander)
	bystander.awaitMetric("connections", func(n int64) bool { return n == 2 })
	bystander.awaitMetric("bursts out", func(n int64) bool { return n <= 1 }) // the bystander's own
	for _, s := range all {
		if s.rest(t) != nil {
			t.Error("a reply that was given up came whole")
		}
	}
	writer.done()
	d.drainAfter(bystander)
}

// Fifty readers stop, each in a reply of what was there in another round of changes, and
// no timeout closes them. What their replies keep stays within --stream-memory: the
// youngest are given up, and the others are whole when their readers go on.
func TestReadersThatStopBeyondStreamMemory(t *testing.T) {
	const readers, streamMemory = 50, 4 << 20
	k := crowd{keys: 1_200, size: 1_000}
	d := start(t, append(kernelBuffers, "--self-events", "100ms", "--expire-every", "50ms", "--write-timeout", "0", "--stream-memory", "4MiB")...)
	writer, bystander := dial(t, d.addr), dial(t, d.addr)
	k.send(writer, 0)
	var all []stopped
	most := int64(0)
	for round := range readers {
		all = append(all, stopAfterLength(t, d))
		k.send(writer, round+1)
		most = max(most, bystander.metric("stream memory bytes"))
	}
	whole, refused, broken := 0, int64(0), int64(0)
	for _, s := range all {
		switch reply := s.rest(t); {
		case reply == nil:
			broken++
		case reply.GetOk():
			whole++
			k.check(t, reply)
		default:
			refused++
		}
	}
	t.Logf("at most %d bytes of stream memory were seen; %d replies whole, %d refused, %d broken off", most, whole, refused, broken)
	if most == 0 || most > streamMemory {
		t.Errorf("streams took up to %d bytes; the limit is %d", most, streamMemory)
	}
	if whole == 0 || broken == 0 {
		t.Error("some replies have room, and some have not")
	}
	nothingKept(bystander)
	bystander.awaitMetric("connections closed: stream memory", func(n int64) bool { return n == broken })
	bystander.awaitMetric("replies without room in stream memory", func(n int64) bool { return n == refused })
	writer.done()
	d.drainAfter(bystander)
}

// Above --max-reply the answer says what there would be.
func TestAReplyOverMaxReply(t *testing.T) {
	d := start(t, "--max-reply", "1MiB")
	c := dial(t, d.addr)
	k := crowd{keys: 3_000, size: 500}
	k.send(c, 0)
	c.write(encoded(t, queryMsg(crowdQuery)))
	reply := c.reply()
	if text := reply.GetError(); reply.GetOk() || !strings.Contains(text, "3000 events") || !strings.Contains(text, "1048576 bytes (--max-reply)") || !strings.Contains(text, "narrow") {
		t.Errorf("ok %v, error %q", reply.GetOk(), text)
	}
	c.one(`service = "crowd 7" and host = "h"`)
	d.drainAfter(c)
}

// The debug log and the counters say by which way a query found its entries, whoever asked.
func TestTheLogOfQueries(t *testing.T) {
	d, base := startWebDaemon(t, "--log-level", "debug", "--self-events", "100ms")
	c := dial(t, d.addr)
	crowd{keys: 300, size: 300}.send(c, 0)
	for _, row := range []struct{ text, by string }{
		{`host = "h" and service = "crowd 7"`, "key"}, {crowdQuery, "posting"}, {`metric > 1 and host = nil`, "scan"},
	} {
		c.query(row.text)
		d.await(func(l logLine) bool {
			return l.text("msg") == "query" && l.text("query") == row.text && l.text("by") == row.by
		})
		c.awaitMetric("index searches: by "+row.by, atLeast(1))
	}
	line := d.await(func(l logLine) bool { return l.text("query") == crowdQuery })
	if n := line.number(t, "looked_at"); n != 300 || line.number(t, "matched") != 300 || line["streamed"] != true {
		t.Errorf("%v", line)
	}
	if n := c.metric("index searches: by scan"); n != 1 {
		t.Errorf("%d scans, want that of one query", n)
	}
	resp, err := http.Get(base + "/index?query=" + url.QueryEscape(`service = "crowd 8" and host = "h"`))
	if err != nil {
		t.Fatal(err)
	}
	size := len(readBody(t, resp))
	line = d.await(func(l logLine) bool { return l.text("query") == `service = "crowd 8" and host = "h"` })
	if line.text("msg") != "query" || line.text("by") != "key" || line.text("peer") == "" || line.number(t, "reply_bytes") != int64(size) || line["streamed"] != false {
		t.Errorf("%d bytes over HTTP: %v", size, line)
	}
	http.DefaultClient.CloseIdleConnections()
	d.drainAfter(c)
}
