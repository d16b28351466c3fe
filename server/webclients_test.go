package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
	"google.golang.org/protobuf/proto"

	"darboux/handlers/riemann/pb"
	"darboux/handlers/web"
)

// startWebDaemon starts the daemon with HTTP and returns its URL.
func startWebDaemon(t *testing.T, flags ...string) (*daemon, string) {
	t.Helper()
	d := start(t, append([]string{"--http", "127.0.0.1:0"}, flags...)...)
	return d, "http://" + listenerAddr(t, d, "--http", "tcp")
}

func TestCurl(t *testing.T) {
	need(t, "curl", "curl")
	_, base := startWebDaemon(t)
	curl := func(args ...string) string {
		return do(t, "", "curl", append([]string{"-sS", "--fail-with-body", "--max-time", "30"}, args...)...)
	}
	if got := curl(base + "/healthz"); got != "ok\n" {
		t.Errorf("healthz: %q", got)
	}
	if got := curl(base + "/readyz"); got != "ready\n" {
		t.Errorf("readyz: %q", got)
	}
	file := filepath.Join(t.TempDir(), "events")
	var lines strings.Builder
	for i := range 3000 {
		fmt.Fprintf(&lines, `{"host":"curl","service":"s%d","metric":%d,"ttl":600}`+"\n", i, i)
	}
	if err := os.WriteFile(file, []byte(lines.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{
		{"--data-binary", "@" + file}, // with Expect: 100-continue
		{"-T", file},
		{"-T", file, "-H", "Transfer-Encoding: chunked"},
		{"--http1.0", "--data-binary", "@" + file},
	} {
		if got := curl(append(args, base+"/events")...); strings.Count(got, `{"ok":true}`) != 3000 {
			t.Errorf("%v: %d results", args, strings.Count(got, `{"ok":true}`))
		}
	}
	query := []string{"--data-urlencode", `query=host = "curl" and metric >= 0`, "-G", base + "/index"}
	if got := curl(query...); strings.Count(got, "\n") != 3000 {
		t.Errorf("%d events", strings.Count(got, "\n"))
	}
	var all []map[string]any
	if err := json.Unmarshal([]byte(curl(append(query, "--data-urlencode", "format=json")...)), &all); err != nil || len(all) != 3000 {
		t.Errorf("%d events, %v", len(all), err)
	}
	if got := curl("-I", base+"/index"); !strings.HasPrefix(got, "HTTP/1.1 200 OK") {
		t.Errorf("HEAD: %q", got)
	}
	if got := curl(base+"/healthz", base+"/healthz", "-w", "%{num_connects} "); got != "ok\n1 ok\n0 " {
		t.Errorf("the second request on the same connection: %q", got)
	}
	if got := curl("--compressed", base+"/metrics"); !strings.Contains(got, "go_goroutines") {
		t.Errorf("metrics: %.200q", got)
	}
}

func TestWrk(t *testing.T) {
	need(t, "wrk", "wrk")
	_, base := startWebDaemon(t)
	out := do(t, "", "wrk", "-t1", "-c50", "-d1s", base+"/healthz")
	if !regexp.MustCompile(`[1-9]\d* requests in`).MatchString(out) || strings.Contains(out, "Non-2xx") || strings.Contains(out, "Socket errors") {
		t.Errorf("wrk says:\n%s", out)
	}
}

func TestNetHTTPClient(t *testing.T) {
	_, base := startWebDaemon(t)
	client := &http.Client{Timeout: patience}
	defer client.CloseIdleConnections()
	msg := &pb.Msg{}
	for i := range 500 {
		msg.Events = append(msg.Events, &pb.Event{Host: proto.String("go"), Service: proto.String(fmt.Sprint(i)), Description: proto.String(strings.Repeat("d", 400))})
	}
	wire, err := proto.Marshal(msg)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := client.Post(base+"/events", "application/x-protobuf", bytes.NewReader(wire))
	if err != nil {
		t.Fatal(err)
	}
	if body := readBody(t, resp); resp.StatusCode != 200 || !strings.Contains(body, `"taken":500`) {
		t.Fatalf("status %d, %s", resp.StatusCode, body)
	}
	for range 10 {
		resp, err := client.Get(base + "/index?format=protobuf")
		if err != nil {
			t.Fatal(err)
		}
		got := &pb.Msg{}
		if err := proto.Unmarshal([]byte(readBody(t, resp)), got); err != nil || len(got.Events) != 500 || !got.GetOk() {
			t.Fatalf("%d events, %v", len(got.Events), err)
		}
	}
}

func readBody(t *testing.T, resp *http.Response) string {
	t.Helper()
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// Tokens come from their files; a reply to /readyz changes with the drain.
func TestWebTokensAndDrain(t *testing.T) {
	dir := t.TempDir()
	token := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	read, write := "0123456789abcdef-read", "0123456789abcdef-write"
	d, base := startWebDaemon(t, "--http-read-token", token("read", read+"\n"), "--http-write-token", token("write", " "+write+" "))
	ask := func(method, path, token, body string) int {
		req, err := http.NewRequest(method, base+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		if token != "" {
			req.Header.Set("Authorization", "Bearer "+token)
		}
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		readBody(t, resp)
		return resp.StatusCode
	}
	for _, row := range []struct {
		method, path, token string
		status              int
	}{
		{"GET", "/index", "", 401}, {"GET", "/index", read, 200}, {"GET", "/index", write, 200}, {"GET", "/metrics", "", 401},
		{"POST", "/events", "", 401}, {"POST", "/events", read, 403}, {"POST", "/events", write, 200}, {"GET", "/healthz", "", 200}, {"GET", "/readyz", "", 200},
	} {
		if got := ask(row.method, row.path, row.token, `{"host":"t"}`); got != row.status {
			t.Errorf("%s %s with %q: status %d; want %d", row.method, row.path, row.token, got, row.status)
		}
	}
	http.DefaultClient.CloseIdleConnections()
	if strings.Contains(d.log(), read) || strings.Contains(d.log(), write) {
		t.Error("a token is in the log")
	}
	for _, bad := range []string{"", "short", strings.Repeat("x", 1025), "0123456789 abcdef blank"} {
		_, _, err := load([]string{"--http-read-token", token("bad", bad)}, nil, testMachine)
		if err == nil || !strings.Contains(err.Error(), "--http-read-token") || bad != "" && strings.Contains(err.Error(), bad) {
			t.Errorf("a token %.20q: error %v", bad, err)
		}
	}
}

// What is not ready says so: before the start and while it drains.
func TestReadiness(t *testing.T) {
	s := wired(t, "--http", "127.0.0.1:0")
	if s.ready.check() == nil {
		t.Error("ready before the start is over")
	}
	s.ready.set("")
	if err := s.ready.check(); err != nil {
		t.Error(err)
	}
}

// Every number of /metrics is named by the conventions and stands in docs/HTTP.md.
func TestMetricsByConventionAndInTheDocuments(t *testing.T) {
	_, base := startWebDaemon(t, "--udp", "127.0.0.1:0", "--graphite", "127.0.0.1:0", "--opentsdb", "127.0.0.1:0", "--snapshot", filepath.Join(t.TempDir(), "snapshot"))
	var text string
	for range 2 { // the second time the first request's own numbers are there, too
		resp, err := http.Get(base + "/metrics")
		if err != nil {
			t.Fatal(err)
		}
		text = readBody(t, resp)
	}
	http.DefaultClient.CloseIdleConnections()
	problems, err := promlint.New(strings.NewReader(text)).Lint()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range problems {
		if strings.HasPrefix(p.Metric, "darboux_") {
			t.Errorf("%s: %s", p.Metric, p.Text)
		}
	}
	doc := document(t, "docs/HTTP.md")
	var missing strings.Builder
	for _, m := range regexp.MustCompile(`(?m)^# HELP (darboux_\S+) (.*)$`).FindAllStringSubmatch(text, -1) {
		kind := regexp.MustCompile(`(?m)^# TYPE ` + m[1] + ` (\S+)$`).FindStringSubmatch(text)[1]
		if row := fmt.Sprintf("| `%s` | %s | %s |", m[1], kind, m[2]); !strings.Contains(doc, row+"\n") {
			missing.WriteString(row + "\n")
		}
	}
	if missing.Len() > 0 {
		t.Errorf("docs/HTTP.md lacks these rows:\n%s", missing.String())
	}
	for _, also := range []string{"go_goroutines", "process_cpu_seconds_total"} {
		if !strings.Contains(text, "\n"+also+" ") {
			t.Errorf("%s is missing", also)
		}
	}
}

func TestMetricNames(t *testing.T) {
	for _, row := range []struct {
		number      web.Number
		name, cause string
	}{
		{web.Number{Name: "bytes read"}, "darboux_read_bytes_total", ""},
		{web.Number{Name: "memory held bytes", Gauge: true}, "darboux_memory_held_bytes", ""},
		{web.Number{Name: "connections closed: end of stream"}, "darboux_connections_closed_total", "end of stream"},
		{web.Number{Name: "events over max-event"}, "darboux_events_over_max_event_total", ""},
	} {
		if name, cause := row.number.MetricName(); name != row.name || cause != row.cause {
			t.Errorf("%s: got %s, %q", row.number.Name, name, cause)
		}
	}
}

// The access log and traces by their flags: a collector gets the spans.
func TestObservationByFlags(t *testing.T) {
	got := make(chan string, 16)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	collector := &http.Server{Handler: http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		got <- r.URL.Path + " " + string(b)
	})}
	go collector.Serve(l)
	defer collector.Close()
	d, base := startWebDaemon(t, "--http-access-log", "--http-traces", "http://"+l.Addr().String()+"/v1/traces")
	req, _ := http.NewRequest("GET", base+"/healthz", nil)
	req.Header.Set("Traceparent", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	readBody(t, resp)
	if !strings.HasPrefix(resp.Header.Get("Traceparent"), "00-0af7651916cd43dd8448eb211c80319c-") {
		t.Errorf("the reply's context is %q", resp.Header.Get("Traceparent"))
	}
	http.DefaultClient.CloseIdleConnections()
	line := d.await(func(l logLine) bool { return l.message() == "http" })
	if line.text("target") != "/healthz" || line.number(t, "status") != 200 {
		t.Errorf("the access log says %v", line)
	}
	d.drain() // which sends what is left
	select {
	case spans := <-got:
		if !strings.HasPrefix(spans, "/v1/traces ") || !strings.Contains(spans, "GET /healthz") {
			t.Errorf("the collector got %.200q", spans)
		}
	default:
		t.Error("the collector got nothing")
	}
}

// Profiles come through the toolchain's own reader.
func TestProfilesByPprof(t *testing.T) {
	_, base := startWebDaemon(t)
	out, err := exec.Command("go", "tool", "pprof", "-top", "-seconds", "1", base+"/debug/pprof/profile").CombinedOutput()
	if err != nil || !bytes.Contains(out, []byte("Duration")) {
		t.Errorf("pprof: %v\n%s", err, out)
	}
	resp, err := http.Get(base + "/debug/pipelines")
	if err != nil {
		t.Fatal(err)
	}
	if body := readBody(t, resp); !strings.Contains(body, "--http") || !strings.Contains(body, "connections: ") {
		t.Errorf("pipelines: %s", body)
	}
	http.DefaultClient.CloseIdleConnections()
}
