package web

import (
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"testing"

	"darboux/handlers/query"
)

// Whatever is not understood is refused: a mistyped name must not mean "all events".
func TestParametersAreKnownAndGivenOnce(t *testing.T) {
	l := newLine(t, testHTTP(testAPI().Handler()))
	const known = "query, format, limit, sort, fields, explain"
	for _, row := range []struct {
		target string
		want   string // in the error; "" is status 200
	}{
		{"/index?foo=bar", `"foo"`}, {"/index?foo=bar", known}, {"/index?querry=true", `"querry"`}, {"/index?Query=true", known},
		{"/index?query=true&query=false", `"query": is given more than once`}, {"/index?limit=1&limit=1", `"limit"`}, {"/index?=x", `""`},
		{"/index?" + strings.Repeat("a&", 40), "41 parameters are over the limit of 32"}, {"/index?subscribe=true", `"subscribe"`},
		{"/index?" + strings.Repeat("n", 5000), `"` + strings.Repeat("n", 60) + `"`},
		{"/index?explain=yes", `explain "yes": must be true, 1, false or 0`}, {"/index?explain=TRUE", "must be"},
		{"/index?explain", ""}, {"/index?explain=", ""}, {"/index?explain=true", ""}, {"/index?explain=1", ""}, {"/index?explain=0", ""}, {"/index?explain=false", ""},
		{"/index?", ""}, {"/index?&&", ""}, {"/index?query=", ""}, {"/index?format=&limit=&sort=&fields=", ""},
		{"/debug/pprof/heap?second=5", "seconds, debug, gc"}, {"/debug/pprof/heap?debug=x", `debug "x"`}, {"/debug/pprof/heap?gc=2", "gc"}, {"/debug/pprof/heap?debug=1&gc=1&seconds=5", ""},
		{"/debug/pipelines?x=y", "has none"}, {"/metrics?x=y", ""}, {"/healthz?_=123", ""}, {"/readyz?_=123", ""},
	} {
		resp, body := l.get(asked(row.target))
		if row.want == "" && resp.StatusCode != 200 || row.want != "" && (resp.StatusCode != 400 || !strings.Contains(body, row.want) || len(body) > 500) {
			t.Errorf("%.60s: status %d, %.200q; want %q", row.target, resp.StatusCode, body, row.want)
		}
	}
	if resp, body := l.get(with("PUT", "/events?format=protobuf", "{}")); resp.StatusCode != 400 || !strings.Contains(body, "has none") {
		t.Errorf("events with a parameter: status %d, %q", resp.StatusCode, body)
	}
}

func TestExplainByItsValue(t *testing.T) {
	l := newLine(t, testHTTP(testAPI().Handler()))
	for value, want := range map[string]bool{"explain": true, "explain=": true, "explain=1": true, "explain=true": true, "explain=0": false, "explain=false": false, "": false} {
		_, body := l.get(asked("/index?" + value))
		if explained := json.Valid([]byte(body)) && strings.Contains(body, "lookups"); explained != want {
			t.Errorf("%q: explained %v", value, explained)
		}
	}
}

const formType = "Content-Type: application/x-www-form-urlencoded"

// A query that is too long for a head comes as a form.
func TestIndexByForm(t *testing.T) {
	l := newLine(t, testHTTP(testAPI().Handler()))
	put(t, l, `{"host":"a","metric":1}`+"\n"+`{"host":"b","metric":2}`)
	host := func(name string) string { return "query=" + url.QueryEscape(`host = "`+name+`"`) }
	long := `host = "a"` + strings.Repeat(` or host = "nobody by this name"`, 1500)
	if len(long) < 40_000 {
		t.Fatal("the query is not long")
	}
	for _, row := range []struct {
		target, body, kind string
		status             int
		want               string // in the body
	}{
		{"/index", host("a"), formType, 200, `"host":"a"`},
		{"/index", host("a") + "&fields=host&format=json", formType + "; charset=utf-8", 200, "[{\"host\":\"a\"}]\n"},
		{"/index?fields=host", host("b"), formType, 200, "{\"host\":\"b\"}\n"},
		{"/index?fields=host", "query=" + url.QueryEscape(long), formType, 200, "{\"host\":\"a\"}\n"},
		{"/index?" + host("b") + "&fields=host", "", formType, 200, "{\"host\":\"b\"}\n"},
		{"/index?" + host("b"), host("b"), formType, 400, `"query": is given more than once`},
		{"/index", "querry=true", formType, 400, `"querry"`},
		{"/index", strings.Repeat("a&", 1000), formType, 400, "1001 parameters are over the limit of 32"},
		{"/index", host("a"), "Content-Type: text/plain", 415, "x-www-form-urlencoded"},
		{"/index", host("a"), "X: y", 415, "x-www-form-urlencoded"},
		{"/index", "query=" + strings.Repeat("a", query.MaxText+1), formType, 400, "parse error"},
		{"/index", "query=" + strings.Repeat("%61", query.MaxText), formType, 200, ""},
		{"/index", strings.Repeat("a", 4*query.MaxText+1), formType, 413, fmt.Sprint(4 * query.MaxText)},
	} {
		resp, body := l.get(with("POST", row.target, row.body, row.kind))
		if resp.StatusCode != row.status || !strings.Contains(body, row.want) || row.status == 200 && strings.Contains(row.want, "\n") && body != row.want {
			t.Errorf("%s %.40q %s: status %d, %.200q; want %d, %q", row.target, row.body, row.kind, resp.StatusCode, body, row.status, row.want)
		}
	}
}
