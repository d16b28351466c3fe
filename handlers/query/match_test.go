package query

import (
	"testing"

	"pgregory.net/rapid"

	"darboux/handlers/riemann"
)

// TestMatchIsNaive: compiled queries answer as the naive evaluator does, on
// received and on stored events.
func TestMatchIsNaive(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		tree := anyPredicate(3).Draw(rt, "query")
		event := anyEvent().Draw(rt, "event")
		q, err := Compile(tree.String())
		if err != nil {
			rt.Fatalf("%s: %v", tree, err)
		}
		if got, want := q.Match(received(t, event)), (naive{Event: event}).matches(tree); got != want {
			rt.Errorf("%s on %v: %v, naive %v", tree, event, got, want)
		}
		ttl := rapid.SampledFrom([]float32{60, 0.5}).Draw(rt, "default ttl")
		if got, want := q.Match(stored(t, event, ttl)), (naive{event, true, ttl}).matches(tree); got != want {
			rt.Errorf("%s on %v as stored: %v, naive %v", tree, event, got, want)
		}
	})
}

// TestNeedsIsEnough: an event of which only the needed fields are known gives the
// same answer.
func TestNeedsIsEnough(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		tree := anyPredicate(2).Draw(rt, "query")
		e := received(t, anyEvent().Draw(rt, "event"))
		q, err := Compile(tree.String())
		if err != nil {
			rt.Fatal(err)
		}
		want := q.Match(e)
		less := *e
		less.Set &= q.Needs()
		if got := q.Match(&less); got != want {
			rt.Errorf("%s needs %b: %v with all fields, %v with those", tree, q.Needs(), want, got)
		}
	})
}

// TestSpansAreEnough: a scan that knows host, service and state need not parse.
func TestSpansAreEnough(t *testing.T) {
	const known = riemann.HasHost | riemann.HasService | riemann.HasState
	q, err := Compile(`state = "critical" and (service =~ "disk%" or not host)`)
	if err != nil {
		t.Fatal(err)
	}
	if q.Needs() != known {
		t.Fatalf("needs %b, not %b", q.Needs(), known)
	}
	record := riemann.Record{Host: "h", Service: "disk /", State: "critical", Description: "d"}
	var e riemann.Event
	if err := e.Parse(record.AppendEvent(nil)); err != nil {
		t.Fatal(err)
	}
	spans := riemann.Event{Raw: e.Raw, Set: e.Set & known, Host: e.Host, Service: e.Service, State: e.State}
	if !q.Match(&spans) {
		t.Error("no match on the spans alone")
	}
}
