package main

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
