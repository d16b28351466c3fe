package riemann

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"strings"
	"testing"
	"unicode/utf8"

	"google.golang.org/protobuf/proto"

	"darboux/handlers/riemann/pb"
)

// unframe is the Msg in a whole frame.
func unframe(t *testing.T, frame []byte) *pb.Msg {
	t.Helper()
	if len(frame) < HeaderSize || int(binary.BigEndian.Uint32(frame)) != len(frame)-HeaderSize {
		t.Fatalf("the length in front of %x is wrong", frame)
	}
	var msg pb.Msg
	if err := proto.Unmarshal(frame[HeaderSize:], &msg); err != nil {
		t.Fatal(err)
	}
	return &msg
}

func TestAckBytes(t *testing.T) {
	if got := hex.EncodeToString(Ack); got != "000000021001" {
		t.Errorf("the ack is %s", got)
	}
	if msg := unframe(t, Ack); !msg.GetOk() || msg.Error != nil {
		t.Errorf("the ack says %v", msg)
	}
}

func TestAppendError(t *testing.T) {
	frame := AppendError([]byte("before"), "parse error: at 3")
	if got, want := string(frame), "before\x00\x00\x00\x15\x10\x00\x1a\x11parse error: at 3"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	for _, text := range []string{"", "a\xffb", strings.Repeat("é", 200)} {
		msg := unframe(t, AppendError(nil, text))
		if msg.Ok == nil || *msg.Ok || msg.Error == nil || !utf8.ValidString(*msg.Error) {
			t.Errorf("error %q reads as %v", text, msg)
		}
	}
	if got := unframe(t, AppendError(nil, "a\xffb")).GetError(); got != "a\uFFFDb" {
		t.Errorf("invalid UTF-8 became %q", got)
	}
}

func TestReply(t *testing.T) {
	events := [][]byte{{}, {tagHost, 1, 'a'}, bytes.Repeat([]byte{tagTags, 0}, 100), bytes.Repeat([]byte{tagTags, 0}, 10_000)}
	frame := BeginReply([]byte("before"))
	for _, e := range events {
		frame = AppendEventField(frame, e)
	}
	EndFrame(frame, len("before"))
	frame = frame[len("before"):]
	msg := unframe(t, frame)
	if !msg.GetOk() || len(msg.Events) != len(events) {
		t.Fatalf("ok %v, %d events", msg.GetOk(), len(msg.Events))
	}
	for i, e := range events {
		if back, err := proto.Marshal(msg.Events[i]); err != nil || !bytes.Equal(back, e) {
			t.Errorf("event %d: %x, want %x", i, back, e)
		}
	}
	empty := BeginReply(nil)
	if EndFrame(empty, 0); !bytes.Equal(empty, Ack) {
		t.Errorf("a reply without events is %x", empty)
	}
}

func TestEndFrameWithoutBegin(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("a frame of less than its length went through")
		}
	}()
	EndFrame([]byte{1, 2, 3}, 0)
}

func TestAppendQueryField(t *testing.T) {
	for _, text := range []string{"", "true", strings.Repeat("x", 126), strings.Repeat("x", 40_000)} {
		frame := AppendQueryField(BeginFrame(nil), text)
		EndFrame(frame, 0)
		msg := unframe(t, frame)
		if msg.Query == nil || msg.Query.String_ == nil || *msg.Query.String_ != text || len(msg.Events) != 0 {
			t.Errorf("a query of %d bytes reads as %v", len(text), msg)
		}
	}
}
