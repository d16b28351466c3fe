package main

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
)

// Whatever a client's path is, its span and those of others reach the collector, and each
// holds little memory until then.
func TestTracesOfOddRequests(t *testing.T) {
	sent := make(chan []byte, 16)
	to := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		b, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		sent <- b
	}))
	defer to.Close()
	d, base := startWebDaemon(t, "--http-traces", to.URL)
	addr := strings.TrimPrefix(base, "http://")
	c := dialWeb(t, addr)
	long := strings.Repeat("p", 10_000)
	for _, target := range []string{"/%ff", "/" + long, "/healthz"} {
		c.send(request(target))
		if _, _, err := c.reply("GET"); err != nil {
			t.Fatal(err)
		}
	}
	c.send(long + " / HTTP/1.1\r\nHost: h\r\n\r\n")
	if _, _, err := c.reply("GET"); err != nil {
		t.Fatal(err)
	}
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	d.drain()
	close(sent)
	var names []string
	for b := range sent {
		var data tracepb.TracesData
		if err := proto.Unmarshal(b, &data); err != nil {
			t.Fatal(err)
		}
		if len(b) > 10_000 {
			t.Errorf("%d bytes were sent for a few spans", len(b))
		}
		for _, s := range data.ResourceSpans[0].ScopeSpans[0].Spans {
			names = append(names, s.Name)
		}
	}
	want := []string{"GET /\ufffd", "GET /" + long[:1023], "GET /healthz", long[:1024] + " /"}
	if strings.Join(names, "\n") != strings.Join(want, "\n") {
		t.Errorf("the collector got the spans %.3000q, want %.3000q", names, want)
	}
}

// A collector can't make the server hold an answer of any length.
func TestCollectorsAnswerIsBounded(t *testing.T) {
	to := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write(make([]byte, mostAnswer+1)) // the client may have gone
	}))
	defer to.Close()
	c := newCollector(to.URL)
	err := c.UploadTraces(t.Context(), nil)
	if err == nil || !strings.Contains(err.Error(), "over the limit of 65536 bytes") {
		t.Errorf("an answer of %d bytes: %v, want an error that names the limit", mostAnswer+1, err)
	}
}
