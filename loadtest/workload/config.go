package workload

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Limits of a Config. They keep the templates and the Book in memory.
const (
	MaxKeys      = 1 << 26  // hosts × services
	MaxBatch     = 100_000  // events in a Msg
	MaxMsgBytes  = 64 << 20 // one encoded Msg
	MaxQueries   = 256      // query texts
	MaxQueryText = 64 << 10 // bytes of one query text
)

// Metrics are the names of the metric kinds that a client may set: a field, or
// an exact field with metric_f beside it for old readers.
var Metrics = []string{"sint64", "d", "f", "sint64+f", "d+f", "none"}

// Times are the names of the time fields that a client may set.
var Times = []string{"none", "seconds", "micros", "both"}

// Config is what a user asks to be sent.
type Config struct {
	Prefix     string        // in front of each host's name
	Hosts      int           // at least 1
	Services   int           // of each host, at least 1
	Zipf       float64       // exponent above 1 of the keys' popularity; 0 is uniform
	EventSize  int           // bytes of one encoded Event; the description fills it up; 0 adds no description
	Tags       int           // of each event
	Attributes int           // of each event
	TTL        time.Duration // of each event; 0 sends none
	Metric     string        // one of Metrics
	Times      string        // one of Times
	Batch      int           // events a Msg, at least 1
	QueryShare float64       // of the requests, 0 to 1
	Queries    []string      // texts in which {host} and {service} stand for names that exist
	Seed       uint64
}

// Check tells what is wrong with c, naming value, limit and flag.
func (c *Config) Check() error {
	for _, n := range []struct {
		flag       string
		value      int
		least, max int
	}{
		{"--hosts", c.Hosts, 1, MaxKeys},
		{"--services", c.Services, 1, MaxKeys},
		{"--batch", c.Batch, 1, MaxBatch},
		{"--event-size", c.EventSize, 0, MaxMsgBytes},
		{"--tags", c.Tags, 0, 1000},
		{"--attributes", c.Attributes, 0, 1000},
	} {
		if n.value < n.least || n.value > n.max {
			return fmt.Errorf("%s %d: must be %d to %d", n.flag, n.value, n.least, n.max)
		}
	}
	if c.Hosts > MaxKeys/c.Services {
		return fmt.Errorf("--hosts %d × --services %d: at most %d together", c.Hosts, c.Services, MaxKeys)
	}
	if c.Zipf != 0 && !(c.Zipf > 1 && c.Zipf <= 10) {
		return fmt.Errorf("--zipf %g: must be 0 (uniform), or above 1 and at most 10", c.Zipf)
	}
	if c.TTL < 0 || c.TTL > 10*365*24*time.Hour {
		return fmt.Errorf("--ttl %s: must be 0s (none) to 87600h", c.TTL)
	}
	if err := oneOf("--metric", c.Metric, Metrics); err != nil {
		return err
	}
	if err := oneOf("--time", c.Times, Times); err != nil {
		return err
	}
	return c.checkQueries()
}

func (c *Config) checkQueries() error {
	if !(c.QueryShare >= 0 && c.QueryShare <= 1) {
		return fmt.Errorf("--query-share %g: must be 0 to 1", c.QueryShare)
	}
	if c.QueryShare > 0 && len(c.Queries) == 0 {
		return fmt.Errorf("--query-share %g: needs at least one --query", c.QueryShare)
	}
	if len(c.Queries) > MaxQueries {
		return fmt.Errorf("--query is given %d times: at most %d", len(c.Queries), MaxQueries)
	}
	for _, q := range c.Queries {
		if len(q) > MaxQueryText {
			return fmt.Errorf("--query of %d bytes: at most %d", len(q), MaxQueryText)
		}
	}
	return nil
}

// Verifiable tells why the metrics of c could not be told apart afterwards, or
// nil.
func (c *Config) Verifiable() error {
	if c.Metric == "none" || c.Metric == "f" {
		return fmt.Errorf("--verify with --metric %s: needs a metric that holds any event number exactly (sint64, d, sint64+f, d+f)", c.Metric)
	}
	return nil
}

func oneOf(flag, value string, names []string) error {
	if !slices.Contains(names, value) {
		return fmt.Errorf("%s %q: must be one of %s", flag, value, strings.Join(names, ", "))
	}
	return nil
}
