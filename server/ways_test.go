package main

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"darboux/handlers/riemann/pb"
)

func TestDatagramsAreIndexed(t *testing.T) {
	for _, handlers := range []string{"0", "2"} {
		t.Run("handlers="+handlers, func(t *testing.T) {
			d := start(t, "--udp", "127.0.0.1:0", "--handlers", handlers, "--loops", "2")
			c := dialNetwork(t, "udp", listenerAddr(t, d, "--udp", "udp"))
			want := entries{}
			for i := range 300 {
				e := event(fmt.Sprint("service ", i), int64(i))
				e.Time = proto.Int64(1<<40 + int64(i)) // far from expiry
				b, err := proto.Marshal(&pb.Msg{Events: []*pb.Event{e}, Query: queryMsg("true").Query})
				if err != nil {
					t.Fatal(err)
				}
				want.put(e)
				writeTo(t, c, b)
			}
			writeTo(t, c, []byte("\xff no Msg"))
			awaitEntries(t, d, want, nil)
			d.await(func(l logLine) bool {
				return l.message() == "undecodable datagram" && l.text("peer") == c.LocalAddr().String()
			})
			if n := d.drain().number(t, "datagrams_received"); n != 301 {
				t.Errorf("%d datagrams received, want 301", n)
			}
		})
	}
}

// What is wrong with lines costs these lines, never their neighbours or the connection,
// and the drain works what was received.
func TestLinesAmongRubbish(t *testing.T) {
	rubbish := make([]byte, 256)
	for i := range rubbish {
		rubbish[i] = byte(i)
	}
	stream := bytes.Join([][]byte{
		[]byte("good.1 1 N"), rubbish, []byte("\r"), []byte("good.2;host=h 2\r"), bytes.Repeat([]byte("x"), 1<<20), []byte("good.3 3"),
		[]byte("m; 1"), []byte("m;=x 1"), []byte("m;a 1"), []byte("m;a=1;a=2 4"), []byte("half a li"), []byte("good.4 5"),
	}, []byte("\n"))
	want := entries{}
	put := func(host *string, service string, metric float64, attributes ...*pb.Attribute) {
		want.put(&pb.Event{Host: host, Service: &service, MetricD: &metric, Ttl: proto.Float32(240), Attributes: attributes})
	}
	key := proto.String("a")
	put(nil, "good.1", 1)
	put(proto.String("h"), "good.2", 2)
	put(nil, "good.3", 3)
	put(nil, "m;a=1;a=2", 4, &pb.Attribute{Key: key, Value: proto.String("1")}, &pb.Attribute{Key: key, Value: proto.String("2")})
	put(nil, "good.4", 5)
	for _, handlers := range []string{"0", "2"} {
		t.Run("handlers="+handlers, func(t *testing.T) {
			d := start(t, "--graphite", "127.0.0.1:0", "--graphite-ttl", "4m", "--handlers", handlers)
			c := dial(t, listenerAddr(t, d, "--graphite", "tcp"))
			for p := range slices.Chunk(stream, 10_000) {
				c.write(p)
			}
			if err := c.shutdown(); err != nil {
				t.Fatal(err)
			}
			c.end()
			awaitEntries(t, d, want, nil)
			for problem, says := range map[string]string{"too long": "4096 bytes or more (--max-line)", "not text": " at once", "tag": "3 at once", "value": "1 at once"} {
				d.await(func(l logLine) bool {
					return l.message() == "bad graphite line: "+problem && strings.Contains(l.text("text"), says) && l.text("peer") == c.LocalAddr().String()
				})
			}
		})
	}
}

// A second daemon on the same address refuses to start, by the flag.
func TestASecondDaemonRefusesToStart(t *testing.T) {
	d := start(t, "--udp", "127.0.0.1:0", "--graphite", "127.0.0.1:0", "--opentsdb", "127.0.0.1:0")
	for _, taken := range []struct{ flag, network string }{
		{"--tcp", "tcp"}, {"--udp", "udp"}, {"--graphite", "tcp"}, {"--graphite", "udp"}, {"--opentsdb", "tcp"},
	} {
		address := listenerAddr(t, d, taken.flag, taken.network)
		args := []string{"--tcp", "", "--udp", "", taken.flag, address}
		code, _, stderr := runOnce(t, nil, args...)
		if code != exitFailed || !strings.Contains(stderr, taken.flag+" "+address) || !strings.Contains(stderr, "in use") {
			t.Errorf("%v: exit code %d, want %d; stderr:\n%s", args, code, exitFailed, stderr)
		}
	}
}

// The size of the receive buffer that the kernel grants stands in the log, and what to
// raise if it is less than was asked for.
func TestReceiveBufferIsTold(t *testing.T) {
	d := start(t, "--udp", "127.0.0.1:0", "--udp-buffer", "64KiB")
	l := d.await(func(l logLine) bool { return l.message() == "listening" && l.text("network") == "udp" })
	if got := l.number(t, "receive_buffer"); got != 64*kib {
		t.Errorf("the log says %d bytes, want 64KiB", got)
	}
	d = start(t, "--udp", "127.0.0.1:0", "--udp-buffer", "1GiB")
	l = d.await(func(l logLine) bool { return strings.Contains(l.message(), "smaller receive buffer") })
	if l.number(t, "asked") != gib || !strings.Contains(l.text("cure"), "net.core.rmem_max=1073741824") {
		t.Errorf("the log says %v", l)
	}
}

// Each listener's path stands in one line of the log, as in docs/ARCHITECTURE.md.
func TestPathsAreTold(t *testing.T) {
	d := start(t, "--udp", "127.0.0.1:0", "--graphite", "127.0.0.1:0", "--opentsdb", "127.0.0.1:0", "--loops", "2", "--handlers", "8")
	text := document(t, "docs/ARCHITECTURE.md")
	for _, w := range []struct{ flag, network string }{
		{"--tcp", "tcp"}, {"--udp", "udp"}, {"--graphite", "tcp"}, {"--graphite", "udp"}, {"--opentsdb", "tcp"},
	} {
		l := d.await(func(l logLine) bool {
			return l.message() == "listening" && l.text("flag") == w.flag && l.text("network") == w.network
		})
		want := w.flag + ", " + w.network + "\n  " + strings.ReplaceAll(l.text("path"), " | ", "\n  ") + "\n"
		if !strings.Contains(text, want) {
			t.Errorf("docs/ARCHITECTURE.md does not show the path that the start prints:\n%s", want)
		}
	}
	if l, _ := start(t, "--handlers", "0").find(func(l logLine) bool { return l.message() == "listening" }); !strings.Contains(l.text("path"), "work: the same loop (--handlers)") {
		t.Errorf("the path without handlers is %q", l.text("path"))
	}
}
