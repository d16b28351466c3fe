package web

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/valyala/fasthttp"
	"google.golang.org/protobuf/proto"

	"darboux/handlers/riemann/pb"
)

// put sends events as JSON lines and wants all of them taken.
func put(t *testing.T, l *line, lines string) {
	t.Helper()
	resp, body := l.get(with("PUT", "/events", lines))
	if resp.StatusCode != 200 || strings.Contains(body, "false") {
		t.Fatalf("status %d: %s", resp.StatusCode, body)
	}
}

func indexed(query string, more ...string) string {
	return asked("/index?" + strings.Join(append([]string{"query=" + url.QueryEscape(query)}, more...), "&"))
}

func TestIndexForms(t *testing.T) {
	l := newLine(t, testHTTP(testAPI().Handler()))
	empty := map[string]string{"jsonl": "", "json": "[]\n", "protobuf": "\x10\x01"}
	for form, want := range empty {
		if resp, body := l.get(indexed("true", "format="+form)); resp.StatusCode != 200 || body != want {
			t.Errorf("%s of nothing: status %d, %q", form, resp.StatusCode, body)
		}
	}
	put(t, l, `{"host":"a","service":"s","metric":1,"ttl":10}`+"\n"+`{"host":"b","service":"s","metric":2.5,"tags":["x","y"],"time":"2024-01-02T03:04:05.678Z","color":"red"}`)
	const a = `{"host":"a","service":"s","state":null,"description":null,"metric":1,"tags":null,"time":"2023-11-14T22:13:20.123Z","ttl":10}`
	const b = `{"host":"b","service":"s","state":null,"description":null,"metric":2.5,"tags":["x","y"],"time":"2024-01-02T03:04:05.678Z","ttl":60,"color":"red"}`
	for _, row := range []struct{ query, more, want string }{
		{`host = "a"`, "format=jsonl", a + "\n"},
		{`host = "b"`, "format=json", "[" + b + "]\n"},
		{`true`, "sort=host&limit=5&format=json", "[" + a + ",\n" + b + "]\n"},
		{`true`, "sort=-metric&limit=1", b + "\n"},
		{`true`, "sort=metric&limit=1", a + "\n"},
		{`true`, "sort=color&limit=2", b + "\n" + a + "\n"},
		{`host = "b"`, "fields=color,host,none", `{"host":"b","color":"red"}` + "\n"},
		{`host = "nobody"`, "", ""},
	} {
		if resp, body := l.get(indexed(row.query, row.more)); resp.StatusCode != 200 || body != row.want {
			t.Errorf("%s %s: status %d, got\n%swant\n%s", row.query, row.more, resp.StatusCode, body, row.want)
		}
	}
	_, body := l.get(indexed(`host = "b"`, "format=protobuf"))
	var m pb.Msg
	if err := proto.Unmarshal([]byte(body), &m); err != nil || !m.GetOk() || len(m.Events) != 1 || m.Events[0].GetMetricD() != 2.5 {
		t.Errorf("protobuf: %v, %v", err, &m)
	}
	if resp, body := l.get(asked("/index")); resp.StatusCode != 200 || strings.Count(body, "\n") != 2 {
		t.Errorf("without a query: status %d, %q", resp.StatusCode, body)
	}
	_, body = l.get(indexed(`host = "a" and metric > 0`, "explain=1"))
	var told struct {
		Query     string
		Lookups   []string
		Looked_at int
		Matched   int
	}
	if err := json.Unmarshal([]byte(body), &told); err != nil || told.Query != `host = "a" and metric > 0` || len(told.Lookups) != 1 || told.Looked_at != 2 || told.Matched != 1 {
		t.Errorf("explain: %v, %s", err, body)
	}
}

func TestIndexParametersAreChecked(t *testing.T) {
	l := newLine(t, testHTTP(testAPI().Handler()))
	for _, row := range []struct{ more, want string }{
		{"query=host+%3D", "parse error"}, {"format=xml", "jsonl, json or protobuf"}, {"limit=0", "from 1"}, {"limit=many", `"many"`},
		{"sort=host", "goes with a limit"}, {"sort=host&limit=10001", "at most 10000"}, {"fields=host&format=protobuf", "jsonl or json"},
		{"sort=-&limit=1", "names no field"}, {"sort=tags&limit=1", "no order"}, {"fields=host,,metric", `"host,,metric"`},
	} {
		if resp, body := l.get(asked("/index?" + row.more)); resp.StatusCode != 400 || !strings.Contains(body, row.want) {
			t.Errorf("%s: status %d, %q; want 400 and %q", row.more, resp.StatusCode, body, row.want)
		}
	}
}

func TestCompressedEventsAreRefused(t *testing.T) {
	l := newLine(t, testHTTP(testAPI().Handler()))
	for coding, status := range map[string]int{"gzip": 415, "identity": 200} {
		if resp, body := l.get(with("POST", "/events", `{"host":"a"}`, "Content-Encoding: "+coding)); resp.StatusCode != status {
			t.Errorf("%s: status %d, %q; want %d", coding, resp.StatusCode, body, status)
		}
	}
}

// A long reply is whole and in slices, however little memory its burst has.
func TestIndexOfManyEvents(t *testing.T) {
	api := testAPI()
	l := newLine(t, testHTTP(api.Handler()))
	var lines strings.Builder
	for i := range 5000 {
		fmt.Fprintf(&lines, `{"host":"h%d","service":"s","metric":%d,"description":"%s"}`+"\n", i, i, strings.Repeat("d", i%300))
	}
	put(t, l, lines.String())
	for _, own := range []int{128 << 10, 4 << 10, 2 << 10} {
		l.own = own
		for _, form := range []string{"jsonl", "json", "protobuf"} {
			for _, more := range []string{"", "limit=3000", "limit=3000&sort=-metric"} {
				_, body := l.get(indexed("true", "format="+form, more))
				hosts := hostsOf(t, form, body)
				want := 5000
				if more != "" {
					want = 3000
				}
				if len(hosts) != want {
					t.Fatalf("%s %s with %d bytes: %d different hosts; want %d", form, more, own, len(hosts), want)
				}
				if strings.Contains(more, "sort") && (!hosts["h4999"] || hosts["h1999"]) {
					t.Errorf("%s %s: not the ones with the largest metric", form, more)
				}
			}
		}
	}
}

// hostsOf returns the hosts in a reply, none of which may come twice.
func hostsOf(t *testing.T, form, body string) map[string]bool {
	t.Helper()
	var events []struct{ Host string }
	switch form {
	case "jsonl":
		body = "[" + strings.ReplaceAll(strings.TrimSuffix(body, "\n"), "\n", ",") + "]"
		fallthrough
	case "json":
		if err := json.Unmarshal([]byte(body), &events); err != nil {
			t.Fatalf("%v: %.200q", err, body)
		}
	default:
		var m pb.Msg
		if err := proto.Unmarshal([]byte(body), &m); err != nil {
			t.Fatal(err)
		}
		for _, e := range m.Events {
			events = append(events, struct{ Host string }{e.GetHost()})
		}
	}
	hosts := map[string]bool{}
	for _, e := range events {
		if hosts[e.Host] {
			t.Fatalf("host %s comes twice", e.Host)
		}
		hosts[e.Host] = true
	}
	return hosts
}

func TestSortedReplyOverItsLimit(t *testing.T) {
	api := testAPI()
	api.MaxReply.Value = 2000
	l := newLine(t, testHTTP(api.Handler()))
	for i := range 10 {
		put(t, l, fmt.Sprintf(`{"host":"h%d","description":"%s"}`, i, strings.Repeat("d", 500)))
	}
	if resp, body := l.get(indexed("true", "sort=host&limit=10")); resp.StatusCode != 400 || !strings.Contains(body, fmt.Sprintf("over the limit of %d bytes (--max-frame)", api.MaxReply.Value)) {
		t.Errorf("status %d, %q; want the flag", resp.StatusCode, body)
	}
	if resp, _ := l.get(indexed("true", "sort=host&limit=2")); resp.StatusCode != 200 {
		t.Errorf("status %d for a smaller limit", resp.StatusCode)
	}
	if n := api.sorters.held.Load(); n != 0 || len(api.sorters.gathering) > 0 {
		t.Errorf("%d bytes are held by sorted replies that are over", n)
	}
	api.sorters.held.Store(SortingSize + 1)
	if resp, body := l.get(indexed("true", "sort=host&limit=2")); resp.StatusCode != 503 || resp.Header.Get("Retry-After") == "" || !strings.Contains(body, fmt.Sprint(SortingSize+1, " bytes, over the limit of ", SortingSize)) {
		t.Errorf("status %d, %q while others sort", resp.StatusCode, body)
	}
}

// Whatever a body holds, others have their turn between small parts of it.
func TestBodiesAreTakenInSlices(t *testing.T) {
	api := testAPI()
	var now time.Duration
	api.Elapsed = func() time.Duration { now += sliceTime; return now } // so each slice is as short as can be
	api.MaxEvent.Value = 1 << 20
	msg := &pb.Msg{}
	for i := range 20_000 {
		msg.Events = append(msg.Events, &pb.Event{Host: proto.String(fmt.Sprint("m", i))})
	}
	wire, err := proto.Marshal(msg)
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range []struct {
		name, contentType, body string
		slices, entries         int // at least
	}{
		{"a Msg", "application/x-protobuf", string(wire), 10, 20_000},
		{"lines", "", strings.Repeat(`{"host":"h"}`+"\n", 10_000), 10_000 / batchLines, 1},
		{"long lines that are no events", "", strings.Repeat(`{"host":"`+strings.Repeat("x", 50_000)+"\n", 20), 10, 0},
	} {
		var ctx fasthttp.RequestCtx
		ctx.Request.Header.SetContentType(row.contentType)
		ctx.Request.SetBodyString(row.body)
		before := api.Store.Stats().Entries
		api.events(&ctx)
		source := ctx.Response.BodyStream().(Sliced)
		slices := 0
		for err := error(nil); err != io.EOF; slices++ {
			if _, err = source.Slice(nil, 64<<10); err != nil && err != io.EOF {
				t.Fatal(err)
			}
		}
		if n := int(api.Store.Stats().Entries - before); slices < row.slices || n != row.entries {
			t.Errorf("%s: %d slices, %d entries; want %d slices at least, %d entries", row.name, slices, n, row.slices, row.entries)
		}
	}
}

// When more replies are sorted at a time than there is room for, the eldest come to their
// end: not all are refused.
func TestSortedRepliesGiveWay(t *testing.T) {
	api := testAPI()
	api.MaxReply.Value = 16 << 20
	var calls time.Duration
	api.Elapsed = func() time.Duration { calls++; return calls * sliceTime / 4 } // so each slice is short
	var lines strings.Builder
	const events, size, sorters = 4000, 900, 16
	for i := range events {
		fmt.Fprintf(&lines, `{"host":"h%d","metric":%d,"description":"%s"}`+"\n", i, i, strings.Repeat("d", size))
		if i%200 == 199 {
			put(t, newLine(t, testHTTP(api.Handler())), lines.String())
			lines.Reset()
		}
	}
	var sources []Sliced
	for range sorters {
		var ctx fasthttp.RequestCtx
		ctx.Request.SetRequestURI("/index?sort=-metric&limit=10000")
		api.index(&ctx)
		sources = append(sources, ctx.Response.BodyStream().(Sliced))
	}
	ends := make([]error, sorters)
	bytes := make([]int, sorters)
	for left := sorters; left > 0; {
		for i, s := range sources {
			if ends[i] != nil {
				continue
			}
			piece, err := s.Slice(nil, 64<<10)
			bytes[i] += len(piece)
			if ends[i] = err; err != nil {
				left--
				if err := s.(io.Closer).Close(); err != nil {
					t.Error(err)
				}
			}
		}
		if held, most := api.sorters.held.Load(), int64(SortingSize+sorters*(foundBytes+2*size)); held > most {
			t.Fatalf("%d bytes are held; want at most %d", held, most)
		}
	}
	whole := 0
	for i, err := range ends {
		if err == io.EOF && bytes[i] > events*size {
			whole++
		}
	}
	if want := SortingSize / (events * (size + 300)); ends[0] != io.EOF || whole < want || whole == sorters {
		t.Errorf("%d of %d came to their end, the first by %v; want at least %d, and not all", whole, sorters, ends[0], want)
	}
	if n := api.sorters.held.Load(); n != 0 || len(api.sorters.gathering) > 0 {
		t.Errorf("%d bytes and %d replies are left", n, len(api.sorters.gathering))
	}
}

func TestEventsAsJSON(t *testing.T) {
	for _, row := range []struct{ line, want string }{ // want: the result without ok, or "ok"
		{`{"host":"h","service":"s","state":"ok","description":"d","metric":1,"tags":["a"],"ttl":1.5,"time":"2024-01-02T03:04:05Z","x":"y"}`, "ok"},
		{`{}`, "ok"},
		{`{"host":null,"metric":null,"tags":null,"x":null}`, "ok"},
		{`{"metric":1e308}`, "ok"},
		{`{"metric":1e309}`, "metric: 1e309 is beyond"},
		{`{"metric":"1"}`, "metric: must be a number, not a text"},
		{`{"host":1}`, "host: must be a text, not a number"},
		{`{"tags":"a"}`, "tags: must be an array of texts, not a text"},
		{`{"tags":["a",1]}`, "in it is a number"},
		{`{"tags":[null]}`, "in it is null"},
		{`{"tags":["a",["b"]]}`, "in it is an array"},
		{`{"tags":[{}]}`, "in it is an object"},
		{`{ "tags" : [ ] , "host" : "h" , "x" : true , "metric" : -1.5 , "y" : null }`, "ok"},
		{`{"host":1,"host":"h"}`, "ok"}, // the last one counts
		{`{"host":"h","host":1}`, "host: must be a text"},
		{`{"x":[0,0,0]}`, "x: an attribute must be a text, not an array"},
		{`{"tags":[""` + strings.Repeat(`,""`, mostParts) + `]}`, "more than 10000 fields"},
		{`{"tags":[""` + strings.Repeat(`,""`, mostParts-1) + `]}`, "ok"},
		{`{"description":"` + strings.Repeat(`,\"`, 3*mostParts) + `\\"}`, "ok"},
		{`{"description":"\\",` + strings.Repeat(`"x":0,`, mostParts) + `"x":1}`, "more than 10000 fields"},
		{`{` + strings.Repeat(`"x":0,`, mostParts) + `"x":1}`, "more than 10000 fields"},
		{`{"host":"\ud800"}`, "ok"}, // half of a surrogate pair becomes U+FFFD
		{`{"host":01}`, `"1" can't stand at byte 10`},
		{`{"host":"h",}`, `"}" can't stand`},
		{`{"host" "h"}`, `"\"" can't stand`},
		{`{host:"h"}`, `"h" can't stand at byte 2`},
		{`{"x":` + strings.Repeat("[", 20_000), `"[" can't stand at byte 10005`},
		{`{"ttl":1e39}`, "ttl: 1e39 is beyond"},
		{`{"ttl":"1"}`, "ttl: must be a number of seconds"},
		{`{"time":"yesterday"}`, "time: \"yesterday\" is no time"},
		{`{"time":1700000000.5}`, "ok"},
		{`{"time":1e18}`, "time: 1e18 are too many seconds"},
		{`{"time":true}`, "not a truth value"},
		{`{"x":{"y":1}}`, "x: an attribute must be a text, not an object"},
		{`{"x":1,"y":true}`, "ok"},
		{`"x"`, "must be a JSON object, not a text"},
		{`12`, "must be a JSON object, not a number"},
		{`false`, "must be a JSON object, not a truth value"},
		{`null`, "must be a JSON object, not null"},
		{`[[1]]`, "must be a JSON object, not an array"},
		{`rubbish`, `no JSON: "r" can't stand at byte 1 of it`},
		{`{"host":"a",}`, `"}" can't stand at byte 13`},
		{"{\"host\":\"a\x01\"}", `"\x01" can't stand at byte 11`},
		{"{\"\xff\":1, \xff}", `"\xff" can't stand at byte 9`},
		{`{"x":` + strings.Repeat("[", 1500) + strings.Repeat("]", 1500) + `}`, "x: an attribute must be a text, not an array"},
		{`{"host":"a"} {"host":"b"}`, "more than one JSON value"},
		{`{"host":"a"`, "ends in the middle"},
		{`{"description":"` + strings.Repeat("d", 1000) + `"}`, "over the limit of 1000 bytes (--max-event)"},
	} {
		api := testAPI()
		if len(row.line) > 10_000 {
			api.MaxEvent.Value = 1 << 20
		}
		l := newLine(t, testHTTP(api.Handler()))
		resp, body := l.get(with("POST", "/events", row.line))
		var got struct {
			OK    bool
			Error string
		}
		if err := json.Unmarshal([]byte(body), &got); err != nil {
			t.Fatalf("%s: %v: %q", row.line, err, body)
		}
		if row.want == "ok" && (!got.OK || resp.StatusCode != 200) || row.want != "ok" && (got.OK || resp.StatusCode != 400 || !strings.Contains(got.Error, row.want)) {
			t.Errorf("%s: status %d, %s; want %s", row.line, resp.StatusCode, body, row.want)
		}
	}
}

func TestEventsHaveOneResultALine(t *testing.T) {
	api := testAPI()
	l := newLine(t, testHTTP(api.Handler()))
	var lines, want strings.Builder
	for i := range 3000 {
		switch i % 10 {
		case 3:
			lines.WriteString("rubbish\r\n")
			want.WriteString("f")
		case 7:
			lines.WriteString(" \r\n") // no line to speak of
		default:
			fmt.Fprintf(&lines, "{\"host\":\"h%d\",\"description\":\"%s\"}\r\n", i, strings.Repeat("x", i%200))
			want.WriteString("t")
		}
	}
	for _, kind := range []string{"sized", "chunked"} {
		raw := with("PUT", "/events", lines.String())
		if kind == "chunked" {
			raw = with("PUT", "/events", "", "Transfer-Encoding: chunked") + fmt.Sprintf("%x\r\n%s\r\n0\r\n\r\n", lines.Len(), lines.String())
		}
		resp, body := l.get(raw)
		var got strings.Builder
		for line := range strings.Lines(body) {
			got.WriteByte(strings.TrimPrefix(line, `{"ok":`)[0])
		}
		if resp.StatusCode != 200 || got.String() != want.String() {
			t.Errorf("%s: status %d, %d results; want %d", kind, resp.StatusCode, got.Len(), want.Len())
		}
	}
	if n := api.Store.Stats().Entries; n != 2400 {
		t.Errorf("%d entries; want 2400", n)
	}
}

func TestEventsAsMsg(t *testing.T) {
	api := testAPI()
	l := newLine(t, testHTTP(api.Handler()))
	encode := func(m *pb.Msg) string {
		b, err := proto.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	event := func(host, text string) *pb.Event { return &pb.Event{Host: &host, Description: &text} }
	large := strings.Repeat("d", 1001)
	for _, row := range []struct {
		body   string
		status int
		want   string
	}{
		{encode(&pb.Msg{Events: []*pb.Event{event("a", ""), event("b", "")}}), 200, `{"ok":true,"taken":2,"refused":0,"skipped":0}`},
		{encode(&pb.Msg{Events: []*pb.Event{event("a", ""), event("b", large)}}), 200, `{"ok":true,"taken":1,"refused":0,"skipped":1}`},
		{encode(&pb.Msg{Events: []*pb.Event{event("b", large)}}), 400, "--max-event"},
		{encode(&pb.Msg{Query: &pb.Query{}}), 400, "/index"},
		{"\xff", 400, "undecodable"},
	} {
		resp, body := l.get(with("POST", "/events", row.body, "Content-Type: Application/X-Protobuf; x=y"))
		if resp.StatusCode != row.status || !strings.Contains(body, row.want) || !json.Valid([]byte(body)) {
			t.Errorf("status %d, %q; want %d and %q", resp.StatusCode, body, row.status, row.want)
		}
	}
	if n := api.Store.Stats().Entries; n != 2 {
		t.Errorf("%d entries; want 2", n)
	}
}

func TestJSONOfOddValues(t *testing.T) {
	for _, row := range []struct{ text, want string }{
		{"plain", `"plain"`}, {"a\"b\\c", `"a\"b\\c"`}, {"<a href='x'>&</a>", `"\u003ca href='x'\u003e\u0026\u003c/a\u003e"`},
		{"\x00\x1f\x7f\n\r\t", `"\u0000\u001f\u007f\n\r\t"`}, {"\u2028\u2029", `"\u2028\u2029"`}, {"\xff\xc3", `"\ufffd\ufffd"`},
		{"ok\xe2\x80ok", `"ok\ufffd\ufffdok"`}, {"ä€𝄞", `"ä€𝄞"`}, {"\xed\xa0\x80", `"\ufffd\ufffd\ufffd"`}, {"", `""`},
	} {
		got := string(appendJSONString(nil, []byte(row.text)))
		if got != row.want || !json.Valid([]byte(got)) {
			t.Errorf("%q: got %s; want %s", row.text, got, row.want)
		}
		var back string
		if err := json.Unmarshal([]byte(got), &back); err != nil || back != strings.ToValidUTF8(row.text, "\ufffd") && len(back) != len(row.text)*3 && !strings.Contains(row.text, "\xe2\x80ok") && row.text != "\xff\xc3" {
			t.Errorf("%q comes back as %q, %v", row.text, back, err)
		}
	}
	for _, row := range []struct {
		f    float64
		want string
	}{{math.NaN(), "null"}, {math.Inf(1), "null"}, {math.Inf(-1), "null"}, {0, "0"}, {math.Copysign(0, -1), "-0"}, {1e21, "1e+21"}, {1e-7, "1e-07"}, {123456789.25, "123456789.25"}, {math.MaxFloat64, "1.7976931348623157e+308"}} {
		if got := string(appendJSONFloat(nil, row.f, 64)); got != row.want || !json.Valid([]byte(got)) {
			t.Errorf("%v: got %s; want %s", row.f, got, row.want)
		}
	}
	for micros, want := range map[int64]string{0: `"1970-01-01T00:00:00.000Z"`, -1: `"1969-12-31T23:59:59.999Z"`, math.MaxInt64: "null", math.MinInt64: "null"} {
		if got := string(appendJSONTime(nil, micros)); got != want {
			t.Errorf("%d: got %s; want %s", micros, got, want)
		}
	}
}

// An event's attributes: the last of a key, none that is a core field's name.
func TestJSONAttributes(t *testing.T) {
	for _, n := range []int{1, fewAttributes, fewAttributes + 1, 100} {
		api := testAPI()
		api.MaxEvent.Value = 1 << 20
		l := newLine(t, testHTTP(api.Handler()))
		e := &pb.Event{Host: proto.String("h")}
		pair := func(k, v string) { e.Attributes = append(e.Attributes, &pb.Attribute{Key: &k, Value: &v}) }
		pair("k", "first")
		pair("host", "not this")
		for i := range n {
			pair(fmt.Sprint("a", i), fmt.Sprint(i))
		}
		pair("k", "last")
		wire, err := proto.Marshal(&pb.Msg{Events: []*pb.Event{e}})
		if err != nil {
			t.Fatal(err)
		}
		l.get(with("POST", "/events", string(wire), "Content-Type: application/octet-stream"))
		_, body := l.get(asked("/index"))
		var got map[string]any
		if err := json.Unmarshal([]byte(body), &got); err != nil || got["host"] != "h" || got["k"] != "last" || got["a0"] != "0" || len(got) != 8+n+1 {
			t.Errorf("%d attributes: %v, %d fields, host %v, k %v", n, err, len(got), got["host"], got["k"])
		}
		if strings.Count(body, `"k":`) != 1 || strings.Count(body, `"host":`) != 1 {
			t.Errorf("a key comes twice: %s", body)
		}
	}
}

func TestHealthAndReadiness(t *testing.T) {
	api := testAPI()
	var why error
	api.Ready = func() error { return why }
	l := newLine(t, testHTTP(api.Handler()))
	for _, e := range []error{nil, errors.New("loading"), errors.New("draining")} {
		why = e
		want := 200
		if e != nil {
			want = 503
		}
		resp, body := l.get(asked("/readyz"))
		if resp.StatusCode != want || e != nil && !strings.Contains(body, e.Error()) {
			t.Errorf("readyz while %v: status %d, %q", e, resp.StatusCode, body)
		}
		if resp, _ := l.get(asked("/healthz")); resp.StatusCode != 200 {
			t.Errorf("healthz while %v: status %d", e, resp.StatusCode)
		}
	}
}

func TestPathsAndMethods(t *testing.T) {
	l := newLine(t, testHTTP(testAPI().Handler()))
	for _, row := range []struct {
		method, target string
		status         int
	}{
		{"GET", "/", 404}, {"GET", "/nothing", 404}, {"GET", "/events", 405}, {"DELETE", "/index", 405}, {"PUT", "/index", 405}, {"POST", "/index", 200}, {"POST", "/metrics", 405},
		{"PUT", "/healthz", 405}, {"HEAD", "/index", 200}, {"HEAD", "/healthz", 200}, {"OPTIONS", "/events", 204},
		{"GET", "/debug/pprof/nothing", 404}, {"GET", "/debug/pprof/profile?seconds=0", 400}, {"GET", "/debug/pprof/profile?seconds=121", 400},
		{"GET", "/debug/pprof/", 200}, {"GET", "/debug/pprof/cmdline", 200}, {"GET", "/debug/pprof/goroutine?debug=1", 200}, {"GET", "/debug/pprof/heap?gc=1", 200},
		{"GET", "/debug/pprof/trace?seconds=1", 200}, {"GET", "/debug/pipelines", 200}, {"GET", "/metrics", 200}, {"GET", "/index/", 200}, {"GET", "//index", 200},
	} {
		resp, body := l.get(with(row.method, row.target, ""))
		if resp.StatusCode != row.status || row.method == "HEAD" && body != "" {
			t.Errorf("%s %s: status %d, %.100q; want %d", row.method, row.target, resp.StatusCode, body, row.status)
		}
		if row.status == 405 && resp.Header.Get("Allow") == "" {
			t.Errorf("%s %s: the header Allow is missing", row.method, row.target)
		}
	}
}
