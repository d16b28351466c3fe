package riemann

import (
	"encoding/binary"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// captured is what testdata/captures holds of each client: requests over TCP
// and UDP and replies, and the events in the requests.
var captured = map[string]struct{ tcp, udp, replies, events int }{
	"collectd":            {34, 12, 34, 100},
	"libriemann-client":   {200, 0, 200, 200},
	"nc":                  {3, 1, 3, 4},
	"npm-riemann":         {256, 1, 256, 253},
	"raidman":             {9, 5, 9, 209},
	"riemann-c-client":    {15, 4, 15, 18},
	"riemann-go-client":   {28, 11, 28, 534},
	"riemann-java-client": {153, 12, 152, 165}, // once the server closed instead
	"ruby-client-0.2.3":   {8, 6, 8, 9},
	"ruby-client-1.2.1":   {3, 0, 3, 2},
	"syslog-ng":           {13, 5, 13, 75},
}

// TestCaptures reads what real clients sent, and were answered, with both the
// view and protobuf.
func TestCaptures(t *testing.T) {
	dirs, err := os.ReadDir(filepath.Join("testdata", "captures"))
	if err != nil {
		t.Fatal(err)
	}
	seen := 0
	for _, d := range dirs {
		if !d.IsDir() {
			continue
		}
		seen++
		t.Run(d.Name(), func(t *testing.T) {
			got := struct{ tcp, udp, replies, events int }{}
			files, err := filepath.Glob(filepath.Join("testdata", "captures", d.Name(), "*", "*.bin"))
			if err != nil {
				t.Fatal(err)
			}
			for _, f := range files {
				b, err := os.ReadFile(f)
				if err != nil {
					t.Fatal(err)
				}
				switch name := filepath.Base(f); {
				case strings.HasPrefix(name, "udp-"):
					got.udp++
					got.events += checkCaptured(t, b)
				case strings.HasSuffix(name, "-s2c.bin"):
					got.replies += eachFrame(t, b, func(frame []byte) { checkCaptured(t, frame) })
				default:
					got.tcp += eachFrame(t, b, func(frame []byte) { got.events += checkCaptured(t, frame) })
				}
			}
			if want := captured[d.Name()]; got != want {
				t.Errorf("read %+v, want %+v", got, want)
			}
		})
	}
	if seen != len(captured) {
		t.Errorf("captures of %d clients, want %d", seen, len(captured))
	}
}

// eachFrame calls f for each frame of a stream, which must end with one, and
// returns their number.
func eachFrame(t *testing.T, b []byte, f func(frame []byte)) (frames int) {
	t.Helper()
	for ; len(b) > 0; frames++ {
		n := HeaderSize + int(binary.BigEndian.Uint32(b))
		f(b[HeaderSize:n])
		b = b[n:]
	}
	return frames
}

// checkCaptured checks a message and the stored forms of its events, and returns
// their number.
func checkCaptured(t *testing.T, frame []byte) int {
	t.Helper()
	var m Msg
	checkMsg(t, &m, frame)
	if err := m.Parse(frame, 0); err != nil {
		t.Fatalf("a real client's message was refused: %v", err)
	}
	for m.Next() {
		for i := range m.Events {
			checkStored(t, m.Events[i].Raw, 1_700_000_000_123_456, 60)
		}
	}
	return m.Count
}
