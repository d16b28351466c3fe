package main

import (
	"bytes"
	"testing"
)

// wired returns a server that was started with these flags and is ended by the test's
// end, in this process.
func wired(t *testing.T, flags ...string) *server {
	t.Helper()
	o, _, err := load(append([]string{"--tcp", "127.0.0.1:0"}, flags...), nil, testMachine)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	s := newServer(o, newLogger(&out, "info", "text"))
	if err := s.start(); err != nil {
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
		s := wired(t, "--handlers", handlers)
		all := s.metrics()
		checkMetrics(all)
		names := map[string]bool{}
		for _, m := range all {
			names[m.name] = true
		}
		for name := range statHelp {
			if !names[name] {
				t.Errorf("help for %q, which nothing counts", name)
			}
		}
	}
}
