package main

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"io/fs"
	"slices"
	"testing"

	"google.golang.org/protobuf/proto"

	"darboux/handlers/riemann"
	"darboux/handlers/riemann/pb"
)

// captures are what connections of real Riemann clients sent, byte for byte; see
// testdata/README.md.
const captures = "testdata/captures.zip"

// Every captured connection gets as many replies as it sent frames, the
// acknowledgements byte for byte, however its bytes arrive, and then, as it has shut
// down its sending side, the end of the stream.
func TestCapturesReplayed(t *testing.T) {
	archive, err := zip.OpenReader(captures)
	if err != nil {
		t.Fatal(err)
	}
	defer archive.Close()
	if len(archive.File) < 100 {
		t.Fatalf("%d captures only", len(archive.File))
	}
	d := start(t)
	for _, file := range archive.File {
		t.Run(file.Name, func(t *testing.T) {
			stream, err := fs.ReadFile(archive, file.Name)
			if err != nil {
				t.Fatal(err)
			}
			replay(t, d, stream, len(stream))
			replay(t, d, stream, max(7, len(stream)/100))
		})
	}
}

// replay sends a captured stream in pieces of so many bytes and checks the replies.
func replay(t *testing.T, d *daemon, stream []byte, piece int) {
	t.Helper()
	c := dial(t, d.addr)
	go func() {
		for p := range slices.Chunk(stream, max(1, piece)) {
			if _, err := c.Write(p); err != nil {
				t.Errorf("write: %v", err)
				return
			}
		}
		if err := c.shutdown(); err != nil {
			t.Errorf("shut down: %v", err)
		}
	}()
	all := bodies(stream)
	for i, body := range all {
		got, err := c.frame()
		if err != nil {
			t.Fatalf("reply %d of %d: %v", i, len(all), err)
		}
		checkReply(t, i, body, got)
	}
	c.end()
	c.done()
}

// checkReply checks the reply to a captured Msg by what protobuf says of the Msg.
func checkReply(t *testing.T, i int, body, got []byte) {
	t.Helper()
	var msg, reply pb.Msg
	refused := proto.Unmarshal(body, &msg) != nil
	if !refused && msg.Query == nil {
		if !bytes.Equal(got, riemann.Ack) {
			t.Errorf("reply %d to a Msg of %d events is % .100x, want the acknowledgement", i, len(msg.Events), got)
		}
		return
	}
	if err := proto.Unmarshal(got[4:], &reply); err != nil {
		t.Errorf("reply %d: %v", i, err)
	}
	if reply.Ok == nil || refused && *reply.Ok {
		t.Errorf("reply %d to %v is %v", i, &msg, &reply)
	}
}

// bodies cuts a captured stream into the bodies of its whole frames; what a capture
// ends with may be a part of one.
func bodies(stream []byte) [][]byte {
	var found [][]byte
	for len(stream) >= 4 {
		end := 4 + int(binary.BigEndian.Uint32(stream))
		if end > len(stream) {
			break
		}
		found = append(found, stream[4:end])
		stream = stream[end:]
	}
	return found
}
