package main

import (
	"fmt"
	"regexp"
)

// A metric is one number that the daemon counts about itself, at one moment.
type metric struct {
	name  string // words in small letters, the unit among them; a cause may follow a colon
	help  string // a sentence
	kind  metricKind
	value int64
}

type metricKind string

const (
	counter metricKind = "counter" // only grows while the process lives
	gauge   metricKind = "gauge"   // goes up and down
)

// mostMetrics keeps self events at a few hundred.
const mostMetrics = 300

var metricName = regexp.MustCompile(`^[a-z][a-z0-9-]*( [a-z0-9-]+)*(:( [a-z0-9-]+)+)?$`)

// checkMetrics panics if the metrics are not as every way of showing them needs
// them: names well formed and different, and not too many.
func checkMetrics(metrics []metric) {
	seen := map[string]bool{}
	for _, m := range metrics {
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
	if len(metrics) > mostMetrics {
		panic(fmt.Sprintf("BUG: %d metrics, at most %d are allowed", len(metrics), mostMetrics))
	}
}
