package main

import (
	"bufio"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"os"
	"os/exec"
	"slices"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"darboux/handlers/riemann"
	"darboux/handlers/riemann/pb"
)

// A client is a raw connection to the daemon. Each wait fails the test after patience.
type client struct {
	t *testing.T
	net.Conn
	r *bufio.Reader
}

func dial(t *testing.T, addr string) *client {
	t.Helper()
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	if err := conn.SetDeadline(time.Now().Add(patience)); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() }) // most tests have closed it
	return &client{t, conn, bufio.NewReaderSize(conn, 64<<10)}
}

// framed puts the length in front of a body.
func framed(body []byte) []byte {
	return append(binary.BigEndian.AppendUint32(nil, uint32(len(body))), body...)
}

// encoded returns the whole frame of a Msg.
func encoded(t *testing.T, msg *pb.Msg) []byte {
	t.Helper()
	body, err := proto.Marshal(msg)
	if err != nil {
		t.Fatal(err)
	}
	return framed(body)
}

func (c *client) write(b []byte) {
	c.t.Helper()
	if err := c.SetWriteDeadline(time.Now().Add(patience)); err != nil {
		c.t.Fatal(err)
	}
	if _, err := c.Write(b); err != nil {
		c.t.Fatalf("write: %v", err)
	}
}

// shutdown shuts down the sending side.
func (c *client) shutdown() error { return c.Conn.(*net.TCPConn).CloseWrite() }

// done closes the connection, so that a drain has not to wait for it.
func (c *client) done() {
	c.t.Helper()
	if err := c.Close(); err != nil {
		c.t.Fatal(err)
	}
}

// frame reads a whole reply, its length included. io.EOF is the end of the stream
// between two replies.
func (c *client) frame() ([]byte, error) {
	if err := c.SetReadDeadline(time.Now().Add(patience)); err != nil {
		return nil, err
	}
	header, err := c.r.Peek(4)
	if err != nil {
		if len(header) == 0 && errors.Is(err, io.EOF) {
			return nil, io.EOF
		}
		return nil, err
	}
	b := make([]byte, 4+int(binary.BigEndian.Uint32(header)))
	if _, err := io.ReadFull(c.r, b); err != nil {
		return nil, err
	}
	return b, nil
}

// reply reads and decodes a reply.
func (c *client) reply() *pb.Msg {
	c.t.Helper()
	b, err := c.frame()
	if err != nil {
		c.t.Fatalf("reading a reply: %v", err)
	}
	msg := &pb.Msg{}
	if err := proto.Unmarshal(b[4:], msg); err != nil {
		c.t.Fatalf("the reply % x does not decode: %v", b, err)
	}
	return msg
}

// ack reads a reply, which must be the acknowledgement byte for byte.
func (c *client) ack() {
	c.t.Helper()
	b, err := c.frame()
	if err != nil {
		c.t.Fatalf("reading an acknowledgement: %v", err)
	}
	if !slices.Equal(b, riemann.Ack) {
		c.t.Fatalf("got % x, want the acknowledgement % x", b[:min(len(b), 200)], riemann.Ack)
	}
}

// end reads on; the next thing must be the end of the stream.
func (c *client) end() {
	c.t.Helper()
	if b, err := c.frame(); !errors.Is(err, io.EOF) {
		c.t.Fatalf("got % x, %v, want the end of the stream", b[:min(len(b), 200)], err)
	}
}

// send sends events and waits for their acknowledgement.
func (c *client) send(events ...*pb.Event) {
	c.t.Helper()
	c.write(encoded(c.t, &pb.Msg{Events: events}))
	c.ack()
}

// query asks and returns the matching events.
func (c *client) query(text string) []*pb.Event {
	c.t.Helper()
	c.write(encoded(c.t, queryMsg(text)))
	msg := c.reply()
	if !msg.GetOk() {
		c.t.Fatalf("query %s: %s", text, msg.GetError())
	}
	return msg.Events
}

// one asks for a single event.
func (c *client) one(text string) *pb.Event {
	c.t.Helper()
	events := c.query(text)
	if len(events) != 1 {
		c.t.Fatalf("query %s found %d events, want 1: %v", text, len(events), events)
	}
	return events[0]
}

func queryMsg(text string) *pb.Msg { return &pb.Msg{Query: &pb.Query{String_: &text}} }

// event makes an event of a service, with an integer metric.
func event(service string, metric int64) *pb.Event {
	return &pb.Event{Host: proto.String("h"), Service: &service, State: proto.String("ok"), MetricSint64: &metric}
}

// need finds a program of a Debian package. Without it the test is left out, loudly;
// in continuous integration nothing may be.
func need(t *testing.T, program, debian string) string {
	t.Helper()
	path, err := exec.LookPath(program)
	if err != nil {
		leaveOut(t, program+" is not installed (Debian package "+debian+")")
	}
	return path
}

func leaveOut(t *testing.T, why string) {
	t.Helper()
	if os.Getenv("CI") == "true" {
		t.Fatal(why + ", and CI=true allows no test to be left out")
	}
	t.Skip("LEFT OUT: " + why)
}

// A deadline ends polling for something that must happen.
type deadline struct {
	t  *testing.T
	at time.Time
}

func newDeadline(t *testing.T) deadline { return deadline{t, time.Now().Add(patience)} }

// check fails the test once patience is at its end.
func (d deadline) check(why string) {
	d.t.Helper()
	if time.Now().After(d.at) {
		d.t.Fatalf("after %v: %s", patience, why)
	}
}
