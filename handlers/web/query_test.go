package web

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"reflect"
	"strings"
	"testing"
	"time"

	"darboux/handlers/index"
	"darboux/handlers/querylog"
)

// costly is a query that can't look at a text of 300,000 bytes.
const costly = `description ~= "a{900}y"`

// A query that comes upon a text which it can't afford is answered with an error, as over
// Riemann's protocol: it is no panic, and counted as what it is.
func TestAQueryThatCostsTooMuch(t *testing.T) {
	for _, more := range []string{"", "format=json", "format=protobuf", "fields=host", "limit=1", "sort=host&limit=5", "explain=1", "explain=1&format=protobuf"} {
		h, l, reports := reportingHTTP(t, func(api *API) { api.MaxEvent.Value = 1 << 20 })
		put(t, l, `{"host":"a","description":"`+strings.Repeat("x", 300_000)+`"}`)
		resp, body := l.get(indexed(costly, more))
		if resp.StatusCode != 400 || !strings.Contains(body, "on a text of 300000 bytes") {
			t.Errorf("%q: status %d, %.100q; want 400 and the text's length", more, resp.StatusCode, body)
		}
		api := h.api
		if n, p, f := api.QueryLog.Count(querylog.TooCostly), h.counters[panics].Load(), h.counters[failed].Load(); n != 1 || p != 0 || f != 0 || len(*reports) != 0 {
			t.Errorf("%q: counted %d times for its cost, %d panics, %d failures, reports %.200q", more, n, p, f, *reports)
		}
	}
}

// Where a part of the reply has left it is broken off, which no client takes for whole.
func TestACostlyQueryBreaksOffWhatHasLeft(t *testing.T) {
	h, l, reports := reportingHTTP(t, func(api *API) {
		api.MaxEvent.Value = 1 << 20
		api.Store = index.NewMap(index.Config{Shards: 1, DefaultTTL: 60})
	})
	for i := range 500 {
		put(t, l, fmt.Sprintf(`{"host":"h%d","state":"ok","description":"%s"}`, i, strings.Repeat("d", 500)))
	}
	put(t, l, `{"host":"z","state":"odd","description":"`+strings.Repeat("x", 300_000)+`"}`)
	out := l.exchange(indexed(`state = "ok" or ` + costly))
	resp, err := http.ReadResponse(bufio.NewReader(bytes.NewReader(out)), nil)
	if err != nil || resp.StatusCode != 200 {
		t.Fatalf("%v: %.200q", err, out)
	}
	if body, err := io.ReadAll(resp.Body); err == nil || len(body) == 0 || !l.closed {
		t.Errorf("%d bytes, %v, closed %v; want some, and no end", len(body), err, l.closed)
	}
	if n := h.api.QueryLog.Count(querylog.TooCostly); n != 1 || h.counters[panics].Load() != 0 || h.counters[failed].Load() != 1 {
		t.Errorf("counted %d times for its cost, %d panics, %d failures", n, h.counters[panics].Load(), h.counters[failed].Load())
	}
	if len(*reports) != 1 || !strings.Contains((*reports)[0], "300000 bytes") || strings.Contains((*reports)[0], "goroutine") {
		t.Errorf("reports %.300q; want one with the reason, without a stack", *reports)
	}
}

// Queries are counted and told of as those of Riemann's clients are.
func TestQueriesAreCountedAndToldOf(t *testing.T) {
	var traces []querylog.Trace
	h, l, _ := reportingHTTP(t, func(api *API) {
		x := index.New(index.Config{DefaultTTL: 60})
		t.Cleanup(x.Close)
		api.Store = x
		api.QueryLog.Trace = func(trace *querylog.Trace) { traces = append(traces, *trace) }
	})
	var lines strings.Builder
	for i := range 300 {
		fmt.Fprintf(&lines, `{"host":"h","service":"s%d","state":"ok","metric":1,"description":"%s"}`+"\n", i, strings.Repeat("d", 300))
	}
	put(t, l, lines.String())
	bytesOf := func(raw string) int64 { _, body := l.get(raw); return int64(len(body)) }
	ok := `state = "ok"`
	want := []querylog.Trace{
		{Query: `host = "h" and service = "s1"`, Way: index.ByKey, Looked: 1, Matched: 1, Bytes: bytesOf(indexed(`host = "h" and service = "s1"`))},
		{Query: `metric > 1`, Way: index.ByScan, Looked: 300, Bytes: bytesOf(indexed(`metric > 1`))},
		{Query: ok, Way: index.ByPosting, Looked: 300, Matched: 300, Bytes: bytesOf(indexed(ok)), Streamed: true},
		{Query: ok, Way: index.ByPosting, Looked: 300, Matched: 300, Bytes: bytesOf(indexed(ok, "sort=service&limit=2"))},
		{Query: ok, Way: index.ByPosting, Looked: 300, Matched: 300, Bytes: bytesOf(indexed(ok, "explain=1"))},
	}
	l.get(indexed(`metric >`))
	l.get(with("HEAD", "/index?query="+url.QueryEscape(ok), ""))
	for i := range want {
		want[i].Peer = l.peer
	}
	if !reflect.DeepEqual(traces, want) {
		t.Errorf("got  %+v\nwant %+v", traces, want)
	}
	for stat, want := range map[querylog.Stat]int64{querylog.Asked: 7, querylog.Unparsed: 1, querylog.Looked: 1201, querylog.Matched: 901, querylog.TooCostly: 0} {
		if n := h.api.QueryLog.Count(stat); n != want {
			t.Errorf("counter %d is %d; want %d", stat, n, want)
		}
	}
	if n := h.api.QueryLog.Count(querylog.Slices); n < 5 {
		t.Errorf("%d slices", n)
	}
}

// A slice ends by the clock however long each match takes: a query with regular
// expressions looks at it more often.
func TestSlicesOfRegularExpressionsEndInTime(t *testing.T) {
	var now time.Duration
	h, l, _ := reportingHTTP(t, func(api *API) {
		api.Elapsed = func() time.Duration { now += sliceTime / 2; return now } // as if two events took so long
	})
	for i := range 100 {
		put(t, l, fmt.Sprintf(`{"host":"h%d"}`, i))
	}
	l.get(indexed(`host ~= "x"`))
	if n := h.api.QueryLog.Count(querylog.Slices); n < 20 {
		t.Errorf("100 events were looked at in %d slices", n)
	}
}

// reporting is HTTP over an API, with what it reports.
type reporting struct {
	*HTTP
	api *API
}

func reportingHTTP(t *testing.T, change func(*API)) (*reporting, *line, *[]string) {
	api := testAPI()
	change(api)
	h := testHTTP(api.Handler())
	reports := &[]string{}
	h.Report = func(kind, peer, text string) { *reports = append(*reports, kind+" "+peer+": "+text) }
	api.Report = h.Report
	return &reporting{h, api}, newLine(t, h), reports
}
