package web

import (
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"sort"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"

	"darboux/handlers/riemann/pb"
)

// resultsOf is what was answered for each event: "ok", or the error.
func resultsOf(t *testing.T, body string) (all []string) {
	t.Helper()
	for line := range strings.Lines(body) {
		var result struct {
			OK    bool
			Error string
		}
		if err := json.Unmarshal([]byte(line), &result); err != nil || result.OK != (result.Error == "") {
			t.Fatalf("%v: result %q", err, line)
		}
		if result.OK {
			result.Error = "ok"
		}
		all = append(all, result.Error)
	}
	return all
}

// Events stand one a line, in arrays, or as objects over lines; what is a mistake costs
// as little as it can.
func TestWhereEventsStandInABody(t *testing.T) {
	const unread = "what comes behind it is not read"
	for _, row := range []struct {
		body string
		want []string // for each event: ok, or a part of the error
	}{
		{"", nil}, {" \r\n\t\n", nil}, {"[]", nil}, {"[ ]\n[\n]\n", nil},
		{`{"host":"a"}`, []string{"ok"}},
		{"{\"host\":\"a\"}\n\n  {\"host\":\"b\"}  \r\n", []string{"ok", "ok"}},
		{`[{"host":"a"}]`, []string{"ok"}},
		{"[{\"host\":\"a\"},\n{\"host\":\"b\"}]\n", []string{"ok", "ok"}},
		{" [\n  {\n    \"host\": \"a\"\n  },\n  {\n    \"host\": \"b\"\n  }\n]\n", []string{"ok", "ok"}},
		{"{\n  \"host\": \"a\",\n  \"tags\": [\n    \"x\"\n  ]\n}\n{\r\n\"host\":\"b\"}\n{\"host\":\"c\"}", []string{"ok", "ok", "ok"}},
		{"[{\"host\":\"a\"}]\n{\"host\":\"b\"}\n[{\"host\":\"c\"},{\"host\":\"d\"}]", []string{"ok", "ok", "ok", "ok"}},
		{`[{"host":"a"},7,null,"x",[{}],{"host":"b"}]`, []string{"ok", "not a number", "not null", "not a text", "not an array", "ok"}},
		{`[{"host":1},{"host":"b"}]`, []string{"host: must be a text", "ok"}},
		{"{\"host\":\n{\"host\":\"b\"}", []string{"ends in the middle", "ok"}}, // a damaged line costs only itself
		{"rubbish\n{\"host\":\"b\"}", []string{`"r" can't stand at byte 1`, "ok"}},
		{"{\"host\":\"a\"} x\n{\"host\":\"b\"}", []string{"more than one", "ok"}},
		{`[{"host":"a"} {"host":"b"}]`, []string{"ok", `stands "{", not a comma; ` + unread}},
		{`[{"host":"a"},]` + "\n{}", []string{"ok", unread}},
		{`[,{"host":"a"}]`, []string{unread}},
		{`[{"host":"a"},rubbish,{}]`, []string{"ok", unread}},
		{`[{"host":"a"}`, []string{"ok", "the array has no end"}},
		{`[{"host":"a"},`, []string{"ok", "ends in the middle"}},
		{`[{"host":"a"},{"host"`, []string{"ok", "ends in the middle"}},
		{`[`, []string{"the array has no end"}},
		{`]`, []string{`"]" can't stand`}},
		{"{\n", []string{"ends in the middle"}},
		{"{\n\"host\":\n", []string{"ends in the middle"}},
		{"{\n\"host\":\"a\"\n} {\"host\":\"b\"}", []string{"ok", "ok"}},
		{`[{"host":"a"},{"description":"` + strings.Repeat("d", 1000) + `"},{"host":"b"}]`, []string{"ok", "over the limit of 1000 bytes (--max-event)", "ok"}},
		{`[{"host":"a"},{"description":"` + strings.Repeat("d", 4000) + `"},{"host":"b"}]`, []string{"ok", "event of more than 3024 bytes is over the limit (--max-event); " + unread}},
		{`{"description":"` + strings.Repeat("d", 4000) + `"}` + "\n{}", []string{"line of 4018 bytes is over the limit of 3024 bytes (--max-event)", "ok"}},
		{"[" + strings.Repeat(`{"host":"a"},`, 500) + `{"host":"b"}]`, strings.Split(strings.Repeat("ok ", 500)+"ok", " ")},
	} {
		l := newLine(t, testHTTP(testAPI().Handler()))
		resp, body := l.get(with("POST", "/events", row.body))
		got := resultsOf(t, body)
		same := len(got) == len(row.want)
		taken := len(row.want) == 0
		for i := range row.want {
			same = same && strings.Contains(got[i], row.want[i]) && (got[i] == "ok") == (row.want[i] == "ok")
			taken = taken || row.want[i] == "ok"
		}
		if !same || taken != (resp.StatusCode == 200) {
			t.Errorf("%.80q: status %d, got\n%.300q\nwant\n%.300q", row.body, resp.StatusCode, got, row.want)
		}
	}
}

// A time is to queries what a Riemann client's would be: whole seconds an integer, anything
// finer a float.
func TestTimesOfJSONAsQueriesSeeThem(t *testing.T) {
	for _, row := range []struct{ time, query string }{
		{`1700000000`, `time = 1700000000`}, {`"2023-11-14T22:13:20Z"`, `time = 1700000000`}, {`"2023-11-14T23:13:20.000+01:00"`, `time = 1700000000`},
		{`1700000000.0`, `time = 1700000000.0`}, {`1.7e9`, `time = 1700000000.0`}, {`1700000000.25`, `time = 1700000000.25`},
		{`"2023-11-14T22:13:20.250Z"`, `time = 1700000000.25`}, {`-5`, `time = -5`}, {`0`, `time = 0`},
		{`9223372036853`, `time = 9223372036853`},
	} {
		l := newLine(t, testHTTP(testAPI().Handler()))
		put(t, l, `{"host":"h","time":`+row.time+`}`)
		if _, body := l.get(indexed(row.query, "fields=host")); body != "{\"host\":\"h\"}\n" {
			_, all := l.get(asked("/index"))
			t.Errorf("time %s: %s does not find it: %s", row.time, row.query, all)
		}
	}
}

// What /index prints can be put back, in any form of JSON, and is the same event then: to
// who prints it again and to queries.
func TestWhatIsPrintedCanBePutBack(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		from, to := newLine(t, testHTTP(roundTripAPI().Handler())), newLine(t, testHTTP(roundTripAPI().Handler()))
		events := rapid.SliceOfNDistinct(printable(), 1, 8, func(e *pb.Event) string { return e.GetHost() }).Draw(rt, "events")
		wire, err := proto.Marshal(&pb.Msg{Events: events})
		if err != nil {
			rt.Fatal(err)
		}
		if resp, body := from.get(with("PUT", "/events", string(wire), "Content-Type: application/x-protobuf")); resp.StatusCode != 200 {
			rt.Fatalf("status %d: %s", resp.StatusCode, body)
		}
		_, printed := from.get(asked("/index?format=" + rapid.SampledFrom([]string{"json", "jsonl"}).Draw(rt, "format")))
		want := parsedEvents(t, printed)
		if rapid.Bool().Draw(rt, "pretty") {
			printed = indented(t, want)
		}
		resp, body := to.get(with("PUT", "/events", printed))
		if n := strings.Count(body, `{"ok":true}`); resp.StatusCode != 200 || n != len(events) {
			rt.Fatalf("status %d, %d of %d events taken: %s\n%s", resp.StatusCode, n, len(events), body, printed)
		}
		_, again := to.get(asked("/index?format=json"))
		if got := parsedEvents(t, again); !reflect.DeepEqual(got, want) {
			rt.Fatalf("got  %s\nwant %s", again, printed)
		}
		for _, e := range events {
			checkSameToQueries(rt, from, to, e)
		}
	})
}

func roundTripAPI() *API {
	api := testAPI()
	api.MaxEvent.Value = 1 << 16
	return api
}

// printable draws an event of which JSON shows all that counts.
func printable() *rapid.Generator[*pb.Event] {
	text := rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{"", "ok", "<&>\"\\", "\x00\x7f\u2028", "ä𝄞"}))
	second := rapid.Int64Range(1_699_999_000, 1_700_001_000)
	return rapid.Custom(func(t *rapid.T) *pb.Event {
		e := &pb.Event{Host: proto.String(text.Draw(t, "host"))}
		for _, field := range []**string{&e.Service, &e.State, &e.Description} {
			if rapid.Bool().Draw(t, "given") {
				*field = proto.String(text.Draw(t, "text"))
			}
		}
		if e.GetState() == "expired" {
			e.State = nil // it would delete
		}
		switch rapid.IntRange(0, 3).Draw(t, "metric") {
		case 0:
			e.MetricSint64 = proto.Int64(rapid.Int64().Draw(t, "integer"))
		case 1:
			e.MetricD = proto.Float64(rapid.OneOf(rapid.Float64(), rapid.SampledFrom([]float64{0, math.Copysign(0, -1), 1, -3, 1e21, 1e300, 5e-324})).Draw(t, "double"))
		case 2:
			e.MetricF = proto.Float32(rapid.Float32().Draw(t, "float"))
		}
		switch rapid.IntRange(0, 2).Draw(t, "time") {
		case 0:
			e.Time = proto.Int64(second.Draw(t, "seconds"))
		case 1: // JSON shows milliseconds; none of a whole second, which is an integer then
			e.TimeMicros = proto.Int64(second.Draw(t, "seconds")*1e6 + rapid.Int64Range(1, 999).Draw(t, "milliseconds")*1000)
		}
		if rapid.Bool().Draw(t, "ttl given") {
			e.Ttl = proto.Float32(rapid.Float32Range(0.5, 1e9).Draw(t, "ttl"))
		}
		e.Tags = rapid.SliceOfN(text, 0, 5).Draw(t, "tags")
		for _, key := range rapid.SliceOfNDistinct(text, 0, 5, rapid.ID[string]).Draw(t, "keys") {
			e.Attributes = append(e.Attributes, &pb.Attribute{Key: proto.String(key), Value: proto.String(text.Draw(t, "value"))})
		}
		return e
	})
}

// parsedEvents reads printed events, in the order of their hosts.
func parsedEvents(t *testing.T, printed string) (events []map[string]any) {
	t.Helper()
	if !strings.HasPrefix(printed, "[") {
		printed = "[" + strings.ReplaceAll(strings.TrimSuffix(printed, "\n"), "\n", ",") + "]"
	}
	decoder := json.NewDecoder(strings.NewReader(printed))
	decoder.UseNumber()
	if err := decoder.Decode(&events); err != nil {
		t.Fatalf("%v: %s", err, printed)
	}
	sort.Slice(events, func(i, j int) bool { return fmt.Sprint(events[i]["host"]) < fmt.Sprint(events[j]["host"]) })
	return events
}

// indented prints each event over lines.
func indented(t *testing.T, events []map[string]any) string {
	t.Helper()
	var b strings.Builder
	for _, e := range events {
		text, err := json.MarshalIndent(e, "", "  ")
		if err != nil {
			t.Fatal(err)
		}
		b.Write(append(text, '\n'))
	}
	return b.String()
}

// checkSameToQueries checks that the numbers of an event are of the same kind in both.
func checkSameToQueries(t *rapid.T, from, to *line, e *pb.Event) {
	at := float64(testTime) / 1e6
	if e.TimeMicros != nil {
		at = float64(e.GetTimeMicros()) / 1e6
	}
	metric := e.GetMetricD()
	if e.MetricF != nil {
		metric = float64(e.GetMetricF())
	}
	for _, query := range []string{
		fmt.Sprintf("time = %d", e.GetTime()), fmt.Sprintf("time = %.6f", at),
		fmt.Sprintf("metric = %d", e.GetMetricSint64()), "metric = " + string(appendDecimal(metric)),
	} {
		_, a := from.get(indexed(query, "sort=host&limit=10&fields=host"))
		_, b := to.get(indexed(query, "sort=host&limit=10&fields=host"))
		if a != b {
			t.Fatalf("%s finds %q, then %q", query, a, b)
		}
	}
}

// appendDecimal is a float as queries are written: with a point, or an exponent without
// a plus.
func appendDecimal(f float64) []byte {
	text := string(appendJSONFloat(nil, f, 64))
	if !strings.ContainsAny(text, ".e") {
		text += ".0"
	}
	return []byte(strings.ReplaceAll(text, "e+", "e"))
}

// Whatever the body: each result is one, nothing is taken that is no object, and its parts
// are read within bounds.
func FuzzEventBodies(f *testing.F) {
	for _, seed := range []string{
		`{"host":"a","time":1}`, "[{\"host\":\"a\"},\n{\"x\":1.5}]\n{\n\"tags\":[\"x\"]\n}\n", "[", "[1,2", "{", "{\n", "[{},]", "\xff", "[[[", `{"a":"\ud800"}`, "null\n[null]", "{}{}",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		if len(body) == 0 {
			return
		}
		api := testAPI()
		api.Elapsed = func() time.Duration { return 0 }
		l := newLine(t, testHTTP(api.Handler()))
		_, reply := l.get(with("POST", "/events", string(body)))
		all := resultsOf(t, reply)
		for _, result := range all {
			if speaksOfInsides(result) {
				t.Fatalf("%q of %.200q", result, body)
			}
		}
		if len(all) > len(body) {
			t.Fatalf("%d results of %d bytes", len(all), len(body))
		}
	})
}
