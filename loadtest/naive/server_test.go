package naive

import (
	"bufio"
	"bytes"
	"net"
	"strings"
	"testing"
	"time"

	"darboux/handlers/riemann/pb"

	"google.golang.org/protobuf/proto"
)

// client is one connection to a Server that lives as long as the test.
type client struct {
	t    *testing.T
	conn net.Conn
	in   *bufio.Reader
}

func start(t *testing.T) *client {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := New()
	served := make(chan error, 1)
	go func() { served <- s.Serve(l) }()
	conn, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		l.Close()
		s.Close()
		if err := <-served; err != nil {
			t.Errorf("Serve: %v", err)
		}
	})
	if err := conn.SetDeadline(time.Now().Add(20 * time.Second)); err != nil {
		t.Fatal(err)
	}
	return &client{t, conn, bufio.NewReader(conn)}
}

func (c *client) send(m *pb.Msg) {
	c.t.Helper()
	var frame bytes.Buffer
	out := bufio.NewWriter(&frame)
	if err := writeFrame(out, m); err != nil {
		c.t.Fatal(err)
	}
	out.Flush()
	if _, err := c.conn.Write(frame.Bytes()); err != nil {
		c.t.Fatal(err)
	}
}

func (c *client) reply() *pb.Msg {
	c.t.Helper()
	body, err := readFrame(c.in)
	if err != nil {
		c.t.Fatal(err)
	}
	var m pb.Msg
	if err := proto.Unmarshal(body, &m); err != nil {
		c.t.Fatal(err)
	}
	return &m
}

func (c *client) ask(query string) *pb.Msg {
	c.t.Helper()
	c.send(&pb.Msg{Query: &pb.Query{String_: &query}})
	return c.reply()
}

func event(host, service string, metric float64) *pb.Event {
	return &pb.Event{Host: &host, Service: &service, MetricD: &metric}
}

func TestAckIsTheSixBytesOfTheProtocol(t *testing.T) {
	c := start(t)
	c.send(&pb.Msg{Events: []*pb.Event{event("a", "b", 1)}})
	ack := make([]byte, 6)
	if _, err := c.in.Read(ack); err != nil {
		t.Fatal(err)
	}
	if want := []byte{0, 0, 0, 2, 0x10, 1}; !bytes.Equal(ack, want) {
		t.Errorf("ack % x, want % x", ack, want)
	}
}

func TestQueries(t *testing.T) {
	c := start(t)
	c.send(&pb.Msg{Events: []*pb.Event{event("a", "x", 1), event("a", "y", 2), event("b", "x", 3), event("b", "x", 4)}})
	c.reply()
	for _, test := range []struct {
		query string
		sum   float64 // of the metrics found
	}{
		{`true`, 1 + 2 + 4},
		{`host = "a"`, 1 + 2},
		{`service = "x"`, 1 + 4},
		{`host = "b" and service = "x"`, 4},
		{`service = "y" and host = "a"`, 2},
		{`host = "nobody"`, 0},
	} {
		reply := c.ask(test.query)
		var sum float64
		for _, e := range reply.Events {
			sum += e.GetMetricD()
			if e.MetricF == nil || e.Time == nil || e.TimeMicros == nil || e.GetTtl() != defaultTTL {
				t.Errorf("%s: %v lacks a field that replies carry", test.query, e)
			}
		}
		if !reply.GetOk() || sum != test.sum {
			t.Errorf("%s: ok=%v, metrics sum to %v, want %v", test.query, reply.GetOk(), sum, test.sum)
		}
	}
}

func TestRefusalsKeepTheConnection(t *testing.T) {
	c := start(t)
	for _, query := range []string{`host =~ "a%"`, `host = "a" and host = "b"`, `nil`, ``} {
		if reply := c.ask(query); reply.Ok == nil || reply.GetOk() || !strings.HasPrefix(reply.GetError(), "parse error: ") {
			t.Errorf("%q is answered %v, want a parse error", query, reply)
		}
	}
	if _, err := c.conn.Write([]byte{0, 0, 0, 1, 0xff}); err != nil {
		t.Fatal(err)
	}
	if reply := c.reply(); reply.Ok == nil || reply.GetOk() || reply.GetError() == "" {
		t.Errorf("an undecodable Msg is answered %v", reply)
	}
	if reply := c.ask("true"); !reply.GetOk() {
		t.Errorf("after refusals: %v", reply)
	}
}

func TestExpiredRemovesTheEntry(t *testing.T) {
	c := start(t)
	gone := event("a", "x", 1)
	gone.State = proto.String("expired")
	c.send(&pb.Msg{Events: []*pb.Event{event("a", "x", 1), gone}, Query: &pb.Query{String_: proto.String("true")}})
	if reply := c.reply(); !reply.GetOk() || len(reply.Events) != 0 {
		t.Errorf("an expired entry is still answered: %v", reply)
	}
}

func TestTimesAndMetricsAreCompleted(t *testing.T) {
	c := start(t)
	e := event("a", "x", 1)
	e.MetricD, e.MetricSint64, e.Time = nil, proto.Int64(7), proto.Int64(1_700_000_000)
	c.send(&pb.Msg{Events: []*pb.Event{e}, Query: &pb.Query{String_: proto.String("true")}})
	got := c.reply().Events
	if len(got) != 1 || got[0].GetMetricF() != 7 || got[0].GetTimeMicros() != 1_700_000_000_000_000 {
		t.Errorf("completed to %v", got)
	}
}
