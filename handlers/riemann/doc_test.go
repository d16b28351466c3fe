package riemann

import (
	"encoding/hex"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"darboux/handlers/riemann/pb"
)

func protocolPage(t *testing.T) string {
	t.Helper()
	b, err := os.ReadFile("../../docs/PROTOCOL.md")
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// typeName is a field's type as docs/PROTOCOL.md writes it.
func typeName(f protoreflect.FieldDescriptor) string {
	name := f.Kind().String()
	if f.Message() != nil {
		name = string(f.Message().Name())
	}
	if f.IsList() {
		name = "repeated " + name
	}
	return name
}

// TestPageHasTheMessages compares the page's table of fields with the schema.
func TestPageHasTheMessages(t *testing.T) {
	var want []string
	for _, m := range []proto.Message{&pb.Msg{}, &pb.Event{}, &pb.Attribute{}, &pb.Query{}, &pb.State{}} {
		d := m.ProtoReflect().Descriptor()
		for i := range d.Fields().Len() {
			f := d.Fields().Get(i)
			want = append(want, fmt.Sprintf("| %s | %s | %d | %s |", d.Name(), f.Name(), f.Number(), typeName(f)))
		}
	}
	row := regexp.MustCompile(`(?m)^\| \w+ \| \w+ \| \d+ \| [\w ]+ \|`)
	if got := row.FindAllString(protocolPage(t), -1); strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("the table of messages should begin its rows with:\n%s", strings.Join(want, "\n"))
	}
}

// pageExamples is what the page's examples say, by their names.
func pageExamples() map[string]*pb.Msg {
	sent := &pb.Event{Time: proto.Int64(1), Service: proto.String("s"), Host: proto.String("h"), MetricSint64: proto.Int64(5)}
	return map[string]*pb.Msg{
		"empty request":      {},
		"event":              {Events: []*pb.Event{sent}},
		"ack":                {Ok: proto.Bool(true)},
		"query":              {Query: &pb.Query{String_: proto.String("true")}},
		"reply to the query": {Ok: proto.Bool(true), Events: []*pb.Event{storedModel(sent, 0, 60)}},
		"error":              {Ok: proto.Bool(false), Error: proto.String("reason")},
	}
}

func TestPageExamples(t *testing.T) {
	_, text, found := strings.Cut(protocolPage(t), "## Examples")
	if !found {
		t.Fatal("no examples")
	}
	want := pageExamples()
	for _, m := range regexp.MustCompile(`(?m)^([a-z][a-z ]*[a-z])  +([0-9a-f ]+)$`).FindAllStringSubmatch(text, -1) {
		frame, err := hex.DecodeString(strings.ReplaceAll(m[2], " ", ""))
		if err != nil {
			t.Fatalf("%s: %v", m[1], err)
		}
		if got := unframe(t, frame); want[m[1]] == nil || !proto.Equal(got, want[m[1]]) {
			t.Errorf("%s: the bytes say %v, want %v", m[1], got, want[m[1]])
		}
		delete(want, m[1])
	}
	if len(want) != 0 {
		t.Errorf("examples that are missing: %v", want)
	}
}
