package query

import (
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"darboux/handlers/riemann/pb"
)

// TestDocumentation runs each example of docs/QUERY.md on the event that it shows.
func TestDocumentation(t *testing.T) {
	doc, err := os.ReadFile("../../docs/QUERY.md")
	if err != nil {
		t.Fatal(err)
	}
	e := stored(t, documentedEvent(t, blocks(string(doc), "json")[0]), 60)
	examples := 0
	for _, block := range blocks(string(doc), "query") {
		for line := range strings.Lines(block) {
			text, want, ok := strings.Cut(strings.TrimSuffix(line, "\n"), "  # ")
			if !ok {
				t.Errorf("no answer behind %q", line)
				continue
			}
			examples++
			q, err := Compile(text)
			got := "no"
			if err != nil {
				got = err.Error()
			} else if q.Match(e) {
				got = "yes"
			}
			if got != want {
				t.Errorf("%s\n got %s\nwant %s", text, got, want)
			}
		}
	}
	if examples < 60 {
		t.Errorf("only %d examples found", examples)
	}
}

// blocks are the blocks of code in that language.
func blocks(doc, language string) []string {
	var all []string
	for _, part := range strings.Split(doc, "```"+language+"\n")[1:] {
		block, _, _ := strings.Cut(part, "```")
		all = append(all, block)
	}
	return all
}

// documentedEvent is an event written as JSON, as a client would send it.
func documentedEvent(t *testing.T, text string) *pb.Event {
	t.Helper()
	var fields map[string]any
	if err := json.Unmarshal([]byte(text), &fields); err != nil {
		t.Fatal(err)
	}
	e := &pb.Event{}
	names := make([]string, 0, len(fields))
	for name := range fields {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		switch v := fields[name]; name {
		case "host":
			e.Host = proto.String(v.(string))
		case "service":
			e.Service = proto.String(v.(string))
		case "state":
			e.State = proto.String(v.(string))
		case "description":
			e.Description = proto.String(v.(string))
		case "metric":
			e.MetricD = proto.Float64(v.(float64))
		case "ttl":
			e.Ttl = proto.Float32(float32(v.(float64)))
		case "time":
			e.Time = proto.Int64(int64(v.(float64)))
		case "tags":
			for _, tag := range v.([]any) {
				e.Tags = append(e.Tags, tag.(string))
			}
		default:
			e.Attributes = append(e.Attributes, &pb.Attribute{Key: proto.String(name), Value: proto.String(v.(string))})
		}
	}
	return e
}
