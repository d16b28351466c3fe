package web

import (
	"fmt"
	"io"
	"reflect"
	"strings"
	"testing"

	"github.com/valyala/fasthttp"
	"google.golang.org/protobuf/proto"

	"darboux/frame"
	"darboux/handlers/index"
	"darboux/handlers/riemann/pb"
)

// Events that are not taken are reported as those of Riemann's clients are, once for what
// is given to the index together.
func TestEventsNotTakenAreReported(t *testing.T) {
	h, l, reports := reportingHTTP(t, func(api *API) {
		api.Store = index.NewMap(index.Config{Shards: 1, Entries: index.Limit{Flag: "--index-entries", Value: 1}})
	})
	put(t, l, `{"host":"a"}`)
	full := h.api.Store.WhyRefused
	large := strings.Repeat("d", 1001)
	msg := func(hosts ...string) string {
		m := &pb.Msg{}
		for _, host := range hosts {
			m.Events = append(m.Events, &pb.Event{Host: &host})
		}
		m.Events[0].Description = proto.String(strings.TrimPrefix(*m.Events[0].Host, "b"))
		wire, err := proto.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		return string(wire)
	}
	const asMsg = "Content-Type: application/x-protobuf"
	for _, row := range []struct {
		body, header string
		want         []string
	}{
		{`{"host":"a"}`, "X: y", nil},
		{`{"host":"b"}` + "\n" + `{"host":"a"}` + "\n" + `{"host":"c"}`, "X: y", []string{"events refused: 2 of 3 events: "}},
		{strings.Repeat(`{"host":"b"}`+"\n", batchLines+1), "X: y", []string{fmt.Sprintf("events refused: %d of %d events: ", batchLines, batchLines), "events refused: 1 of 1 events: "}},
		{`{"host":"a"}` + "\n" + `{"description":"` + large + `"}`, "X: y", []string{"events skipped: 1: event of 1004 bytes is over the limit of 1000 bytes (--max-event)"}},
		{"rubbish", "X: y", nil}, // told to who sent it
		{msg("a"), asMsg, nil},
		{msg("b", "a", "c"), asMsg, []string{"events refused: 2 of 3 events: "}},
		{msg("b"+large, "a"), asMsg, []string{"events skipped: 1: event of 2009 bytes is over the limit of 1000 bytes (--max-event)"}},
		{"\xff", asMsg, []string{"undecodable Msg: "}},
	} {
		*reports = nil
		l.get(with("PUT", "/events", row.body, row.header))
		for i, want := range row.want {
			kind, text, _ := strings.Cut(want, ": ")
			row.want[i] = kind + " " + l.peer + ": " + text
			if kind == "events refused" {
				row.want[i] += full().Error()
			}
		}
		got := *reports
		if len(got) == 1 && strings.HasPrefix(row.body, "\xff") {
			got = []string{got[0][:len(row.want[0])]}
		}
		if len(got)+len(row.want) > 0 && !reflect.DeepEqual(got, row.want) {
			t.Errorf("%.40q: reported %q; want %q", row.body, got, row.want)
		}
	}
	want := []frame.Stat{{Name: "http events", Value: 11 + batchLines + 1}, {Name: "http events refused", Value: 4 + batchLines + 1}, {Name: "http events over max-event", Value: 2}}
	if got := h.api.Stats(); !reflect.DeepEqual(got, want) {
		t.Errorf("counted %v, want %v", got, want)
	}
}

// A panic is reported with what it says, wherever the code is that panics.
func TestPanicsAreReported(t *testing.T) {
	const reason = "the reason of this panic"
	for name, handler := range map[string]fasthttp.RequestHandler{
		"handler": func(*fasthttp.RequestCtx) { panic(reason) },
		"writer":  func(ctx *fasthttp.RequestCtx) { Write(ctx, -1, func(io.Writer) error { panic(reason) }) },
		"sliced":  func(ctx *fasthttp.RequestCtx) { ctx.Response.SetBodyStream(panicking{reason}, -1) },
	} {
		h := testHTTP(handler)
		var reports []string
		h.Report = func(kind, peer, text string) { reports = append(reports, kind+" "+peer+": "+text) }
		resp, _ := newLine(t, h).get(asked("/"))
		if resp.StatusCode != fasthttp.StatusInternalServerError || h.counters[panics].Load() != 1 {
			t.Errorf("%s: status %d, %d panics counted", name, resp.StatusCode, h.counters[panics].Load())
		}
		if want := "panic 127.0.0.1:1234: " + reason + "\n"; len(reports) == 0 || !strings.HasPrefix(reports[0], want) {
			t.Errorf("%s: reported %.200q, want one that begins %q", name, reports, want)
		}
	}
}

// panicking is a body that can't be made.
type panicking struct{ reason string }

func (p panicking) Read([]byte) (int, error) { panic(p.reason) }

func (p panicking) Slice([]byte, int) ([]byte, error) { panic(p.reason) }
