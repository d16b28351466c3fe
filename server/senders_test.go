package main

import (
	"archive/zip"
	"io/fs"
	"maps"
	"net"
	"path"
	"slices"
	"strconv"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"darboux/handlers/riemann/pb"
)

// senders are what real clients sent over UDP, and senders of Graphite's lines over
// both; see testdata/README.md.
const senders = "testdata/senders.zip"

// A sending is what one client sent in one run.
type sending struct {
	datagrams, streams [][]byte
}

// sentByRuns reads the recordings by client and run.
func sentByRuns(t *testing.T) map[string]sending {
	t.Helper()
	archive, err := zip.OpenReader(senders)
	if err != nil {
		t.Fatal(err)
	}
	defer archive.Close()
	runs := map[string]sending{}
	for _, file := range archive.File { // in the order of sending
		b, err := fs.ReadFile(archive, file.Name)
		if err != nil {
			t.Fatal(err)
		}
		r := runs[path.Dir(file.Name)]
		if strings.HasPrefix(path.Base(file.Name), "udp-") {
			r.datagrams = append(r.datagrams, b)
		} else {
			r.streams = append(r.streams, b)
		}
		runs[path.Dir(file.Name)] = r
	}
	if len(runs) < 15 {
		t.Fatalf("%d runs only", len(runs))
	}
	return runs
}

// The index holds exactly what each recorded client sent, as protobuf reads the
// datagrams and a few lines of code the lines.
func TestSendersReplayed(t *testing.T) {
	runs := sentByRuns(t)
	for _, name := range slices.Sorted(maps.Keys(runs)) {
		t.Run(name, func(t *testing.T) {
			d := start(t, "--loops", "1", "--udp", "127.0.0.1:0", "--graphite", "127.0.0.1:0", "--expire-every", "24h")
			r, want := runs[name], entries{}
			graphite := strings.Contains(name, "graphite") || strings.Contains(name, "carbon")
			flag, put := "--udp", want.putMsg
			if graphite {
				flag, put = "--graphite", want.putLines
			}
			udp := dialNetwork(t, "udp", listenerAddr(t, d, flag, "udp"))
			for _, b := range r.datagrams {
				writeTo(t, udp, b)
				put(b)
			}
			for _, b := range r.streams {
				tcp := dialNetwork(t, "tcp", listenerAddr(t, d, flag, "tcp"))
				writeTo(t, tcp, b)
				if err := tcp.Close(); err != nil {
					t.Fatal(err)
				}
				put(b)
			}
			awaitEntries(t, d, want, nil)
			ledger := d.drain()
			if n := ledger.number(t, "datagrams_received"); n != int64(len(r.datagrams)) {
				t.Errorf("%d datagrams received, want %d", n, len(r.datagrams))
			}
		})
	}
}

// putMsg puts the events of a Msg, unless protobuf refuses it.
func (es entries) putMsg(b []byte) {
	msg := &pb.Msg{}
	if proto.Unmarshal(b, msg) != nil {
		return
	}
	for _, e := range msg.Events {
		es.put(e)
	}
}

// putLines puts the events of Graphite's lines as simply as possible.
func (es entries) putLines(b []byte) {
	for line := range strings.Lines(string(b)) {
		fields := strings.Fields(line)
		if len(fields) != 3 {
			continue
		}
		value, err := strconv.ParseFloat(fields[1], 64)
		seconds, err2 := strconv.ParseFloat(fields[2], 64)
		if err != nil || err2 != nil || value != value || value-value != 0 {
			continue
		}
		e := &pb.Event{MetricD: &value, Ttl: proto.Float32(180)}
		if seconds != -1 {
			e.Time = proto.Int64(int64(seconds))
		}
		service, tags, _ := strings.Cut(fields[0], ";")
		if !setTags(e, &service, tags) {
			continue
		}
		e.Service = &service
		es.put(e)
	}
}

func setTags(e *pb.Event, service *string, tags string) bool {
	for _, tag := range strings.Split(tags, ";") {
		key, value, ok := strings.Cut(tag, "=")
		switch {
		case tags == "":
		case !ok || key == "":
			return false
		case key == "host":
			e.Host = &value
		default:
			*service += ";" + tag
			e.Attributes = append(e.Attributes, &pb.Attribute{Key: &key, Value: &value})
		}
	}
	return true
}

func dialNetwork(t *testing.T, network, address string) net.Conn {
	t.Helper()
	c, err := net.Dial(network, address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() }) // most tests have closed it
	return c
}

func writeTo(t *testing.T, c net.Conn, b []byte) {
	t.Helper()
	if _, err := c.Write(b); err != nil {
		t.Fatal(err)
	}
}
