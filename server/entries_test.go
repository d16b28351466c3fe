package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"darboux/handlers/riemann/pb"
)

// This file compares what the index holds with what it should hold: all entries, and
// all that is in them, in words.

// defaultTTL is the daemon's ttl in seconds for events that bring none.
const defaultTTL = 60

// entries are events by their key, in words.
type entries map[string]string

// put puts an event into the index as a daemon should: the last one of a key counts,
// and one that is expired takes it out.
func (es entries) put(e *pb.Event) {
	key := keyOf(e)
	if e.GetState() == "expired" {
		delete(es, key)
		return
	}
	if e.Ttl == nil {
		e.Ttl = proto.Float32(defaultTTL)
	}
	es[key] = entryOf(e)
}

func keyOf(e *pb.Event) string { return quoted(e.Host) + " " + quoted(e.Service) }

func quoted(s *string) string {
	if s == nil {
		return "none"
	}
	return fmt.Sprintf("%q", *s)
}

// entryOf writes down an event, its metric as the kind that counts, and its time, which
// is "now" if it has none.
func entryOf(e *pb.Event) string {
	metric, at := "none", "now"
	switch {
	case e.MetricSint64 != nil:
		metric = fmt.Sprint("integer ", *e.MetricSint64)
	case e.MetricD != nil:
		metric = fmt.Sprint("float ", *e.MetricD)
	case e.MetricF != nil:
		metric = fmt.Sprint("float ", float64(*e.MetricF))
	}
	switch {
	case e.TimeMicros != nil:
		at = fmt.Sprint(*e.TimeMicros)
	case e.Time != nil:
		at = fmt.Sprint(*e.Time, "000000")
	}
	var attributes []string
	for _, a := range e.Attributes {
		attributes = append(attributes, fmt.Sprintf("%q=%q", a.GetKey(), a.GetValue()))
	}
	return fmt.Sprintf("state %s, description %s, metric %s, tags %q, attributes %v, ttl %v, at %s",
		quoted(e.State), quoted(e.Description), metric, e.Tags, attributes, e.GetTtl(), at)
}

// asNow makes entries that have the time of their receipt comparable with those of which
// it was expected.
func (es entries) asNow(want entries) {
	for key, text := range want {
		if got, ok := es[key]; ok && strings.HasSuffix(text, " at now") {
			es[key] = got[:strings.LastIndex(got, " at ")] + " at now"
		}
	}
}

// awaitEntries waits until the daemon's index holds exactly these entries. look, if it is
// not nil, is shown what it holds each time, and may change that.
func awaitEntries(t *testing.T, d *daemon, want entries, look func(got entries)) {
	t.Helper()
	c := dial(t, d.addr)
	defer c.done()
	limit := newDeadline(t)
	if err := c.SetDeadline(limit.at.Add(patience)); err != nil { // the difference is to be told, not a timeout
		t.Fatal(err)
	}
	for {
		got := entries{}
		for _, e := range c.query("true") {
			got[keyOf(e)] = entryOf(e)
		}
		got.asNow(want)
		if look != nil {
			look(got)
		}
		if maps.Equal(got, want) {
			return
		}
		limit.check("the index does not hold what it should:\n" + difference(got, want))
	}
}

// difference is what two indexes don't have in common, at most twenty entries.
func difference(got, want entries) string {
	var lines []string
	for key, text := range want {
		if got[key] != text {
			lines = append(lines, fmt.Sprintf("%s\n   is %s\n want %s", key, got[key], text))
		}
	}
	for key, text := range got {
		if _, ok := want[key]; !ok {
			lines = append(lines, fmt.Sprintf("%s\n   is %s\n want nothing", key, text))
		}
	}
	slices.Sort(lines)
	return strings.Join(lines[:min(len(lines), 20)], "\n")
}

// listenerAddr is the address of the listener of a flag.
func listenerAddr(t *testing.T, d *daemon, flag, network string) string {
	t.Helper()
	l, ok := d.find(func(l logLine) bool {
		return l.message() == "listening" && l.text("flag") == flag && l.text("network") == network
	})
	if !ok {
		t.Fatalf("there is no listener of %s over %s", flag, network)
	}
	return l.text("addr")
}
