package main

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"darboux/handlers/riemann/pb"
)

// metric reads a counter or gauge of the daemon's as its self event says, which may
// be a round old; -1 if there is none yet.
func (c *client) metric(name string) int64 {
	c.t.Helper()
	events := c.query(fmt.Sprintf("service = %q", selfPrefix+name))
	if len(events) == 0 {
		return -1
	}
	return events[0].GetMetricSint64()
}

// awaitMetric asks until a counter or gauge is as wanted.
func (c *client) awaitMetric(name string, wanted func(int64) bool) {
	c.t.Helper()
	limit := newDeadline(c.t)
	for n := c.metric(name); !wanted(n); n = c.metric(name) {
		limit.check(fmt.Sprintf("%s is %d", name, n))
	}
}

func atLeast(least int64) func(int64) bool { return func(n int64) bool { return n >= least } }

// Clients that flood and never read are paused, not read on, and a bystander on the
// same loop is answered all the while.
func TestFloodersArePaused(t *testing.T) {
	d := start(t, "--loops", "1", "--self-events", "100ms", "--write-timeout", "0", "--frame-timeout", "0")
	bystander := dial(t, d.addr)
	bystander.send(largeEvent())
	flooders := 200
	if underRace {
		flooders = 40
	}
	var all sync.WaitGroup
	for range flooders {
		c := dial(t, d.addr)
		all.Go(func() { flood(c) })
		bystander.send(event("bystander", 1))
	}
	all.Wait()
	bystander.awaitMetric("pauses by window", atLeast(int64(flooders)))
	for i := range 200 {
		bystander.send(event("bystander", int64(i)))
	}
	if n := bystander.metric("reads while paused"); n != 0 {
		t.Errorf("%d reads of paused connections, want none", n)
	}
	const each = 256<<10 + 64<<10 + 64<<10 // --conn-memory, and beyond it a window and a reply
	if held := bystander.metric("memory held bytes"); held > int64(flooders)*each {
		t.Errorf("%d bytes are held for %d connections, want at most %d each", held, flooders, each)
	}
}

// Who does not read its replies is closed after --write-timeout, with the reason
// counted; who does not send the rest of its frame after --frame-timeout.
func TestSlowPeersAreClosed(t *testing.T) {
	d := start(t, "--self-events", "100ms", "--write-timeout", "100ms", "--frame-timeout", "200ms")
	bystander, reader, sender := dial(t, d.addr), dial(t, d.addr), dial(t, d.addr)
	stuck(reader)
	sender.write([]byte{0, 0, 1, 0, 0x10})
	if b, err := sender.frame(); err == nil {
		t.Errorf("half a frame was answered: % x", b)
	}
	bystander.awaitMetric("connections closed: write timeout", atLeast(1))
	bystander.awaitMetric("connections closed: frame timeout", atLeast(1))
	for _, flag := range []string{"--write-timeout", "--frame-timeout"} {
		d.await(func(l logLine) bool { return strings.Contains(l.text("text"), "("+flag+")") })
	}
}

// largeBody is the body of a Msg of so many bytes that means nothing.
func largeBody(size int) []byte {
	b := protowire.AppendTag(make([]byte, 0, size), 100, protowire.BytesType)
	n := size - len(b) - 4 // the length takes 4 bytes from 2 MiB up to 256 MiB
	b = protowire.AppendVarint(b, uint64(n))
	return b[:size]
}

// Frames larger than --conn-memory wait for the reserve, those of an address in their order,
// nobody else waits for them, and in the end all of them are answered.
func TestLargeFramesWaitForTheReserve(t *testing.T) {
	const large = 16<<20 - 64
	connections := 200
	if underRace {
		connections = 20
	}
	d := start(t, "--memory", "256MiB", "--frame-timeout", "0", "--self-events", "100ms")
	request := framed(largeBody(large))
	release := make(chan struct{})
	var all sync.WaitGroup
	for i := range connections {
		c := dial(t, d.addr)
		all.Go(func() {
			if err := heldBack(c, request, release); err != nil {
				t.Errorf("connection %d: %v", i, err)
			}
		})
	}
	bystander := dial(t, d.addr)
	bystander.awaitMetric("reserve taken bytes", atLeast(128<<20-large))
	bystander.awaitMetric("reserve waiting", atLeast(1))
	for i := range 100 {
		bystander.send(event("bystander", int64(i)))
	}
	close(release)
	all.Wait()
	bystander.awaitMetric("reserve taken bytes", func(n int64) bool { return n == 0 })
}

// Who holds the reserve by large frames that hardly come is closed when others want it, with
// the reason logged and counted; whoever sends his is answered.
func TestLargeFramesThatHardlyComeGiveWay(t *testing.T) {
	const large, room = 8<<20 - 64, 4 // so many have room
	d := start(t, "--memory", "64MiB", "--max-frame", "8MiB", "--http-max-body", "1MiB", "--frame-timeout", "20s", "--self-events", "100ms")
	request := framed(largeBody(large))
	bystander := dial(t, d.addr)
	for range room + 1 {
		dial(t, d.addr).write(request[:128<<10])
	}
	bystander.awaitMetric("reserve taken bytes", atLeast(room*large))
	bystander.awaitMetric("reserve waiting", atLeast(1))
	honest := dial(t, d.addr)
	honest.write(request)
	honest.ack()
	bystander.awaitMetric("connections closed: reserve wanted", atLeast(1))
	text := d.await(message("reserve wanted")).text("text")
	for _, part := range []string{"262144 bytes a second", "4s", "--frame-timeout", "--memory 67108864", fmt.Sprint(large + 4)} {
		if !strings.Contains(text, part) {
			t.Errorf("%q does not name %s", text, part)
		}
	}
}

// heldBack sends all of a request but its last byte, waits for release, sends that
// one, and reads the acknowledgement.
func heldBack(c *client, request []byte, release <-chan struct{}) error {
	last := len(request) - 1
	if _, err := c.Write(request[:last]); err != nil {
		return err
	}
	<-release
	if _, err := c.Write(request[last:]); err != nil {
		return err
	}
	b, err := c.frame()
	if err == nil && len(b) != 6 {
		err = fmt.Errorf("got % .100x, want the acknowledgement", b)
	}
	return err
}

// Once the client of pipelined scans is gone, no further one is begun.
func TestScansOfAGoneClientStop(t *testing.T) {
	const scans = 10_000
	d := start(t, "--self-events", "100ms")
	c := dial(t, d.addr)
	for host := range 20 {
		events := make([]*pb.Event, 1000)
		for i := range events {
			events[i] = event(fmt.Sprintf("entry %d", i), 1)
			events[i].Host = proto.String(fmt.Sprintf("host %d", host))
		}
		c.send(events...)
	}
	bystander := dial(t, d.addr)
	c.write(bytes.Repeat(encoded(t, queryMsg(`description = "none"`)), scans))
	bystander.awaitMetric("bursts out", atLeast(1))
	if err := c.Conn.(*net.TCPConn).SetLinger(0); err != nil {
		t.Fatal(err)
	}
	c.done()
	bystander.awaitMetric("connections closed: reset", atLeast(1))
	bystander.awaitMetric("bursts out", func(n int64) bool { return n <= 1 }) // the bystander's own
	if n := bystander.metric("queries"); n >= scans {
		t.Errorf("all %d queries were worked, though nobody waited for them", n)
	}
}

// Pipelined queries with large replies cost the window and a reply, not all replies;
// whoever reads slowly gets all of them whole and in order.
func TestLargeRepliesPipelined(t *testing.T) {
	const replies = 400
	d := start(t, "--self-events", "100ms", "--write-timeout", "0")
	c, bystander := dial(t, d.addr), dial(t, d.addr)
	large := make([]*pb.Event, 2)
	for i := range large {
		large[i] = event(fmt.Sprintf("large %d", i), int64(i))
		large[i].Description = proto.String(strings.Repeat("x", 50<<10))
	}
	c.send(large...)
	var ask []byte
	for i := range replies {
		ask = append(ask, encoded(t, queryMsg(fmt.Sprintf("service = %q", large[i%2].GetService())))...)
	}
	c.write(ask)
	bystander.awaitMetric("pauses by window", atLeast(1))
	if held := bystander.metric("memory held bytes"); held > 2*256<<10 {
		t.Errorf("%d bytes are held for %d unread replies of 50 KiB", held, replies)
	}
	for i := range replies {
		reply := c.reply()
		if len(reply.Events) != 1 || reply.Events[0].GetMetricSint64() != int64(i%2) {
			t.Fatalf("reply %d: %d events, %.100v", i, len(reply.Events), reply)
		}
	}
}

// A full table of descriptors is survived: who is in is served, and who waits is let
// in when there is room.
func TestDescriptorTableFull(t *testing.T) {
	d := start(t, "--max-conns", "1000")
	files := &unix.Rlimit{Cur: 40, Max: 40}
	if err := unix.Prlimit(d.cmd.Process.Pid, unix.RLIMIT_NOFILE, files, nil); err != nil {
		t.Fatal(err)
	}
	first := dial(t, d.addr)
	first.send(event("first", 1))
	crowd := make([]*client, 60)
	for i := range crowd {
		crowd[i] = dial(t, d.addr)
		crowd[i].write(encoded(t, &pb.Msg{Events: []*pb.Event{event("crowd", int64(i))}}))
	}
	d.await(func(l logLine) bool { return strings.Contains(l.text("text"), "ulimit -n") })
	first.send(event("first", 2))
	for _, c := range crowd { // each that is answered and gone makes room for another
		c.ack()
		c.done()
	}
	first.send(event("first", 3))
	if n := d.drainAfter(first).number(t, "connections_accepted"); n != 61 {
		t.Errorf("%d connections were accepted, want 61", n)
	}
}

// drainAfter drains when this last client is gone.
func (d *daemon) drainAfter(last *client) logLine {
	d.t.Helper()
	last.done()
	return d.drain()
}

// Short connections, half of which don't wait for their reply, never get each
// other's, although descriptors are used again at once.
func TestShortConnections(t *testing.T) {
	connections := 20_000
	if underRace {
		connections = 4_000
	}
	const dialers = 32
	d := start(t, "--loops", "2", "--handlers", "2")
	var all sync.WaitGroup
	for dialer := range dialers {
		all.Go(func() {
			for i := range connections / dialers {
				if err := shortConnection(d.addr, dialer, i); err != nil {
					t.Errorf("dialer %d, connection %d: %v", dialer, i, err)
					return
				}
			}
		})
	}
	all.Wait()
	if n := d.drain().number(t, "connections_accepted"); n != int64(connections/dialers*dialers) {
		t.Errorf("%d connections accepted, want %d", n, connections)
	}
}

// shortConnection sends an event of this dialer's service, asks for it, and every
// other time waits for both replies. Local addresses take turns, for a closed
// connection keeps its port for a minute.
func shortConnection(addr string, dialer, i int) error {
	from := &net.TCPAddr{IP: net.IPv4(127, 0, byte(dialer), byte(1+i%250))}
	conn, err := (&net.Dialer{LocalAddr: from, Timeout: patience}).Dial("tcp", addr)
	if err != nil {
		return err
	}
	defer conn.Close()                                   // an error could only tell that it is closed
	service := fmt.Sprintf("dialer %d, %d", dialer, i%2) // nothing orders those that nobody waits for
	e, q := &pb.Msg{Events: []*pb.Event{event(service, int64(i))}}, queryMsg(fmt.Sprintf("service = %q", service))
	if err := errors.Join(conn.SetDeadline(time.Now().Add(patience)), writeMsgs(conn, e, q)); err != nil || i%2 == 1 {
		return err
	}
	for range 2 {
		reply, err := readMsg(conn)
		if err != nil {
			return err
		}
		if !reply.GetOk() || len(reply.Events) > 1 {
			return fmt.Errorf("reply %v", reply)
		}
		if len(reply.Events) == 1 && (reply.Events[0].GetService() != service || reply.Events[0].GetMetricSint64() != int64(i)) {
			return fmt.Errorf("got another's reply: %v", reply)
		}
	}
	return nil
}

func writeMsgs(w io.Writer, msgs ...*pb.Msg) error {
	var all []byte
	for _, msg := range msgs {
		body, err := proto.Marshal(msg)
		if err != nil {
			return err
		}
		all = append(all, framed(body)...)
	}
	_, err := w.Write(all)
	return err
}

func readMsg(r io.Reader) (*pb.Msg, error) {
	var header [4]byte
	if _, err := io.ReadFull(r, header[:]); err != nil {
		return nil, err
	}
	body := make([]byte, binary.BigEndian.Uint32(header[:]))
	if _, err := io.ReadFull(r, body); err != nil {
		return nil, err
	}
	msg := &pb.Msg{}
	return msg, proto.Unmarshal(body, msg)
}
