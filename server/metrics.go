package main

import (
	"fmt"
	"regexp"
)

// A metric is one number that the daemon counts about itself. The table of them
// feeds every way in which they are shown.
type metric struct {
	name string // words in small letters, the unit among them: "reply bytes"
	help string // a sentence
	kind metricKind
	read func() int64 // any goroutine may call it
}

type metricKind string

const (
	counter metricKind = "counter" // only grows while the process lives
	gauge   metricKind = "gauge"   // goes up and down
)

// mostMetrics keeps self events at a few hundred.
const mostMetrics = 300

var metricName = regexp.MustCompile(`^[a-z][a-z0-9]*( [a-z0-9]+)*$`)

// checkMetrics panics if the table is not one: names must be well formed, and
// different.
func checkMetrics(table []metric) {
	seen := map[string]bool{}
	for _, m := range table {
		switch {
		case !metricName.MatchString(m.name):
			panic(fmt.Sprintf("BUG: metric name %q", m.name))
		case seen[m.name]:
			panic(fmt.Sprintf("BUG: two metrics are named %q", m.name))
		case m.help == "" || m.kind != counter && m.kind != gauge:
			panic(fmt.Sprintf("BUG: metric %q lacks its help or kind", m.name))
		}
		seen[m.name] = true
	}
	if len(table) > mostMetrics {
		panic(fmt.Sprintf("BUG: %d metrics, at most %d are allowed", len(table), mostMetrics))
	}
}
