package main

import (
	"bytes"
	"regexp"
	"testing"
)

// wired returns a server that was started with these flags and is ended by the test's
// end, in this process.
func wired(t *testing.T, flags ...string) *server {
	t.Helper()
	o, _, err := load(append([]string{"--tcp", "127.0.0.1:0", "--udp", "", "--http", ""}, flags...), nil, testMachine)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	s := newServer(o, newLogger(&out, "info", "text"))
	if err := s.start(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if code := s.end(); code != exitOK {
			t.Errorf("exit code %d; the log:\n%s", code, out.String())
		}
	})
	return s
}

// Every metric has its help, and every help its metric.
func TestMetricsHaveTheirHelp(t *testing.T) {
	for _, handlers := range []string{"0", "2"} {
		s := wired(t, "--handlers", handlers, "--graphite", "127.0.0.1:0", "--opentsdb", "127.0.0.1:0", "--http", "127.0.0.1:0")
		names := checkMetrics(t, s.metrics())
		for name := range statHelp {
			if !names[name] {
				t.Errorf("help for %q, which nothing counts", name)
			}
		}
	}
}

// mostMetrics keeps self events at a few hundred.
const mostMetrics = 300

var metricName = regexp.MustCompile(`^[a-z][a-z0-9-]*( [a-z0-9-]+)*(:( [a-z0-9-]+)+)?$`)

// checkMetrics checks that metrics are as every way of showing them needs them, and
// returns their names.
func checkMetrics(t *testing.T, metrics []metric) map[string]bool {
	t.Helper()
	names := map[string]bool{}
	for _, m := range metrics {
		switch {
		case !metricName.MatchString(m.name):
			t.Errorf("metric name %q", m.name)
		case names[m.name]:
			t.Errorf("two metrics are named %q", m.name)
		case m.help == "":
			t.Errorf("metric %q lacks its help", m.name)
		}
		names[m.name] = true
	}
	if len(metrics) > mostMetrics {
		t.Errorf("%d metrics, at most %d are wanted", len(metrics), mostMetrics)
	}
	return names
}
