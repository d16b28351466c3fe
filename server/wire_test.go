package main

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"darboux/handlers/riemann"
	"darboux/handlers/riemann/pb"
)

// refusedLength is a stream whose first four bytes are a length over the limit.
type refusedLength struct {
	name   string
	bytes  string
	length string // as the error names it
	log    string // what the log calls the bytes
}

var refusedLengths = []refusedLength{
	{"all ones", "\xff\xff\xff\xff", "4294967295", ""},
	{"the sign bit", "\x80\x00\x00\x00", "2147483648", ""},
	{"one over", "\x01\x00\x00\x01", "16777217", ""},
	{"HTTP GET", "GET / HTTP/1.1\r\nHost: here\r\n\r\n", "1195725856", "HTTP"},
	{"HTTP POST", "POST /events HTTP/1.1\r\n\r\n", "1347375956", "HTTP"},
	{"HTTP PUT", "PUT /events HTTP/1.1\r\n\r\n", "1347769376", "HTTP"},
	{"HTTP HEAD", "HEAD / HTTP/1.1\r\n\r\n", "1212498244", "HTTP"},
	{"SSH", "SSH-2.0-OpenSSH_9.2p1\r\n", "1397966893", "SSH"},
	{"TLS hello", "\x16\x03\x01\x00\xa5\x01\x00\x00\xa1\x03\x03", "369295616", "TLS"},
}

// A frame whose length is over the limit gets an error that names length, limit and
// flag, at once and whole, then the end of the stream. Others go on undisturbed.
func TestLengthOverTheLimit(t *testing.T) {
	for _, row := range refusedLengths {
		t.Run(row.name, func(t *testing.T) {
			d := start(t, "--max-frame", "16MiB")
			bystander, c := dial(t, d.addr), dial(t, d.addr)
			c.write([]byte(row.bytes))
			reply := c.reply()
			if reply.Ok == nil || *reply.Ok {
				t.Errorf("ok is %v, want false on the wire", reply.Ok)
			}
			for _, want := range []string{row.length, "16777216", "--max-frame"} {
				if !strings.Contains(reply.GetError(), want) {
					t.Errorf("error %q does not name %s", reply.GetError(), want)
				}
			}
			c.end()
			local := c.LocalAddr().String()
			if row.log != "" {
				d.await(func(l logLine) bool {
					return l.text("peer") == local && strings.Contains(fmt.Sprint(l), row.log)
				})
			}
			bystander.send(event("bystander", 1))
		})
	}
}

// Frames in front of one that is refused are answered first.
func TestFramesBeforeARefusedLength(t *testing.T) {
	d := start(t)
	c := dial(t, d.addr)
	good := encoded(t, &pb.Msg{Events: []*pb.Event{event("before", 1)}})
	c.write(bytes.Join([][]byte{good, good, {0xff, 0xff, 0xff, 0xff}}, nil))
	c.ack()
	c.ack()
	if reply := c.reply(); reply.GetOk() || !strings.Contains(reply.GetError(), "4294967295") {
		t.Errorf("third reply: %v", reply)
	}
	c.end()
}

// A frame at the limit is served.
func TestFrameAtTheLimit(t *testing.T) {
	d := start(t, "--max-frame", "64KiB", "--max-event", "128KiB")
	c := dial(t, d.addr)
	body := func(description int) []byte {
		b, err := proto.Marshal(&pb.Msg{Events: []*pb.Event{{Service: proto.String("limit"),
			Description: proto.String(strings.Repeat("x", description))}}})
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	overhead := len(body(60_000)) - 60_000
	exactly := body(64<<10 - overhead)
	if len(exactly) != 64<<10 {
		t.Fatalf("BUG: the body has %d bytes", len(exactly))
	}
	c.write(framed(exactly))
	c.ack()
	c.write(framed(body(64<<10 - overhead + 1)))
	if reply := c.reply(); reply.GetOk() || !strings.Contains(reply.GetError(), "65537") {
		t.Errorf("one byte more: %v", reply)
	}
	c.end()
}

// refusedBodies are frames whose Msg protobuf refuses. Each holds a good event in
// front, to show that none of such a Msg is applied.
func refusedBodies(t *testing.T) map[string][]byte {
	good, err := proto.Marshal(&pb.Msg{Events: []*pb.Event{event("from a refused Msg", 1)}})
	if err != nil {
		t.Fatal(err)
	}
	eventWith := func(field []byte) []byte {
		return protowire.AppendBytes(protowire.AppendTag(bytes.Clone(good), 6, protowire.BytesType), field)
	}
	attribute := protowire.AppendBytes(protowire.AppendTag(nil, 2, protowire.BytesType), []byte("value"))
	return map[string][]byte{
		"not protobuf":          append(bytes.Clone(good), 0xff, 0xff, 0xff),
		"truncated":             good[:len(good)-1],
		"length beyond the end": append(bytes.Clone(good), 0x32, 0x7f, 0x01),
		"attribute without key": eventWith(protowire.AppendBytes(protowire.AppendTag(nil, 9, protowire.BytesType), attribute)),
		"field number 0":        append(bytes.Clone(good), 0x00, 0x01),
		"group not closed":      append(bytes.Clone(good), 0x0b),
		"broken event":          eventWith([]byte{0x0a, 0x7f}),
	}
}

// A Msg that protobuf refuses is answered ok=false with the reason, none of it is
// applied, and the connection goes on.
func TestRefusedMsgs(t *testing.T) {
	d := start(t)
	c := dial(t, d.addr)
	for name, body := range refusedBodies(t) {
		t.Run(name, func(t *testing.T) {
			if proto.Unmarshal(body, &pb.Msg{}) == nil {
				t.Fatal("BUG: protobuf accepts this body")
			}
			c.write(framed(body))
			reply := c.reply()
			if reply.Ok == nil || *reply.Ok || reply.GetError() == "" {
				t.Errorf("reply %v, want ok=false and a reason", reply)
			}
			c.write(framed(nil))
			c.ack()
		})
	}
	if found := c.query(`service = "from a refused Msg"`); len(found) != 0 {
		t.Errorf("parts of refused Msgs were applied: %v", found)
	}
}

// Bytes that are no event and no query, and yet are answered as a success.
func TestAcknowledgedWithoutEvents(t *testing.T) {
	d := start(t)
	c := dial(t, d.addr)
	unknown := protowire.AppendVarint(protowire.AppendTag(nil, 99, protowire.VarintType), 7)
	unknown = protowire.AppendString(protowire.AppendTag(unknown, 1000, protowire.BytesType), "what")
	states, err := proto.Marshal(&pb.Msg{States: []*pb.State{{Service: proto.String("legacy"), State: proto.String("ok")}}})
	if err != nil {
		t.Fatal(err)
	}
	for name, body := range map[string][]byte{
		"an empty frame":       {},
		"unknown fields alone": unknown,
		"legacy states":        states,
		"ok and error set":     {0x10, 0x01, 0x1a, 0x00},
	} {
		t.Run(name, func(t *testing.T) {
			c.write(framed(body))
			c.ack()
		})
	}
	if found := c.query("true"); len(found) != 0 {
		t.Errorf("the index holds %v, want nothing", found)
	}
}

// Unknown fields beside known ones change nothing.
func TestUnknownFieldsAreSkipped(t *testing.T) {
	d := start(t)
	c := dial(t, d.addr)
	e, err := proto.Marshal(event("with unknown fields", 5))
	if err != nil {
		t.Fatal(err)
	}
	e = protowire.AppendString(protowire.AppendTag(e, 77, protowire.BytesType), "what")
	e = protowire.AppendFixed64(protowire.AppendTag(e, 78, protowire.Fixed64Type), 1)
	msg := protowire.AppendBytes(protowire.AppendTag(nil, 6, protowire.BytesType), e)
	msg = protowire.AppendVarint(protowire.AppendTag(msg, 79, protowire.VarintType), 1)
	c.write(framed(msg))
	c.ack()
	if got := c.one(`service = "with unknown fields"`); got.GetMetricSint64() != 5 {
		t.Errorf("found %v", got)
	}
}

// The events of a Msg are applied before its query is answered, and the reply
// carries both times, both metrics and the ttl.
func TestEventsBeforeTheirQuery(t *testing.T) {
	d := start(t, "--ttl", "120s")
	c := dial(t, d.addr)
	msg := queryMsg(`service = "both"`)
	msg.Events = []*pb.Event{{Service: proto.String("both"), Time: proto.Int64(1_700_000_000), MetricD: proto.Float64(0)}}
	c.write(encoded(t, msg))
	reply := c.reply()
	if !reply.GetOk() || len(reply.Events) != 1 {
		t.Fatalf("reply %v", reply)
	}
	got := reply.Events[0]
	want := &pb.Event{Service: proto.String("both"), Time: proto.Int64(1_700_000_000), TimeMicros: proto.Int64(1_700_000_000_000_000),
		MetricD: proto.Float64(0), MetricF: proto.Float32(0), Ttl: proto.Float32(120)}
	if !proto.Equal(got, want) {
		t.Errorf("got  %v\nwant %v", got, want)
	}
}

func TestQueryErrorsKeepTheConnection(t *testing.T) {
	d := start(t)
	c := dial(t, d.addr)
	for _, text := range []string{`service = `, `(`, ``, `service = "a" and`, strings.Repeat("(", 5000)} {
		c.write(encoded(t, queryMsg(text)))
		reply := c.reply()
		if reply.Ok == nil || *reply.Ok || !strings.HasPrefix(reply.GetError(), "parse error: ") {
			t.Errorf("query %.20q: %v", text, reply)
		}
	}
	c.send(event("still here", 1))
	if found := c.query("false"); len(found) != 0 {
		t.Errorf("false matches %v", found)
	}
}

// An event over --max-event is left out, the rest of its Msg stands, and the Msg is
// acknowledged; if nothing of it could be taken, the client is told.
func TestEventOverTheLimit(t *testing.T) {
	d := start(t, "--max-event", "2KiB")
	c := dial(t, d.addr)
	large := event("large", 1)
	large.Description = proto.String(strings.Repeat("x", 3000))
	c.send(event("small 1", 1), large, event("small 2", 2))
	if found := c.query(`service =~ "small%"`); len(found) != 2 {
		t.Errorf("found %v, want both small ones", found)
	}
	if found := c.query(`service = "large"`); len(found) != 0 {
		t.Error("the large event was taken")
	}
	c.write(encoded(t, &pb.Msg{Events: []*pb.Event{large}}))
	reply := c.reply()
	if reply.GetOk() || !strings.Contains(reply.GetError(), "--max-event") || !strings.Contains(reply.GetError(), "2048") {
		t.Errorf("nothing could be taken, reply %v, want an error naming flag and limit", reply)
	}
}

// The state expired removes the entry; the others of its Msg stay in order.
func TestExpiredRemoves(t *testing.T) {
	d := start(t)
	c := dial(t, d.addr)
	gone := event("comes and goes", 1)
	c.send(gone, event("stays", 2))
	gone.State = proto.String("expired")
	c.send(gone)
	if found := c.query("true"); len(found) != 1 || found[0].GetService() != "stays" {
		t.Errorf("found %v, want the one that stays", found)
	}
}

// The reaper takes an entry out once its ttl is over, and until then it is visible.
func TestReaper(t *testing.T) {
	d := start(t, "--expire-every", "10ms")
	c := dial(t, d.addr)
	short := event("short", 1)
	short.Ttl = proto.Float32(0.05)
	c.send(short, event("long", 2))
	deadline := newDeadline(t)
	for len(c.query(`service = "short"`)) > 0 {
		deadline.check("the short event is still there")
	}
	c.one(`service = "long"`)
}

func TestMissingKeysAreKeys(t *testing.T) {
	d := start(t)
	c := dial(t, d.addr)
	c.send(
		&pb.Event{MetricSint64: proto.Int64(1)},
		&pb.Event{Host: proto.String(""), MetricSint64: proto.Int64(2)},
		&pb.Event{Service: proto.String(""), MetricSint64: proto.Int64(3)},
		&pb.Event{Host: proto.String(""), Service: proto.String(""), MetricSint64: proto.Int64(4)},
	)
	if found := c.query("true"); len(found) != 4 {
		t.Errorf("%d entries, want 4: %v", len(found), found)
	}
	if found := c.query("host = nil and service = nil"); len(found) != 1 || found[0].GetMetricSint64() != 1 {
		t.Errorf("without host and service: %v", found)
	}
}

// A reply that is not ok carries its false on the wire, a metric of 0 is there.
func TestZeroValuesAreOnTheWire(t *testing.T) {
	d := start(t)
	c := dial(t, d.addr)
	c.write(encoded(t, queryMsg("(")))
	b, err := c.frame()
	if err != nil || !bytes.HasPrefix(b[4:], []byte{0x10, 0x00}) {
		t.Errorf("reply % x, error %v, want 10 00 first", b, err)
	}
	c.send(event("zero", 0))
	c.write(encoded(t, queryMsg(`metric = 0`)))
	b, err = c.frame()
	if err != nil {
		t.Fatal(err)
	}
	var msg riemann.Msg
	if err := msg.Parse(b[4:], 0); err != nil || msg.Count != 1 || !msg.Next() {
		t.Fatalf("% x: %v, %d events", b, err, msg.Count)
	}
	if e := &msg.Events[0]; e.Set&riemann.HasSint64 == 0 || e.Set&riemann.HasF == 0 || e.Sint64 != 0 || e.F != 0 {
		t.Errorf("the metric 0 came back as %+v", e)
	}
}
