package query

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"darboux/handlers/query/oracle"
	"darboux/handlers/riemann"
	"darboux/handlers/riemann/pb"
)

func oracleRows(t testing.TB) []oracle.Row {
	t.Helper()
	rows, err := oracle.Rows()
	if err != nil {
		t.Fatal(err)
	}
	if len(rows) != 6476 {
		t.Fatalf("%d rows, the oracle has 6476", len(rows))
	}
	return rows
}

// answer is what a text comes to on an event.
func answer(text string, e *riemann.Event) (oracle.Answer, *Query, error) {
	q, err := Compile(text)
	switch {
	case err != nil:
		return oracle.Error, nil, err
	case q.Match(e):
		return oracle.True, q, nil
	}
	return oracle.False, q, nil
}

// received is the view of an event as a client sends it.
func received(t testing.TB, event *pb.Event) *riemann.Event {
	t.Helper()
	raw, err := proto.MarshalOptions{AllowPartial: true}.Marshal(event)
	if err != nil {
		t.Fatal(err)
	}
	e := &riemann.Event{}
	if err := e.Parse(raw); err != nil {
		t.Fatal(err)
	}
	return e
}

// testNow is a time of receipt, in microseconds.
const testNow = 1_700_000_000_250_000

// stored is an event as the index keeps it and reads it again.
func stored(t testing.TB, event *pb.Event, defaultTTL float32) *riemann.Event {
	t.Helper()
	e := received(t, event)
	kept := e.Kept()
	bytes := e.AppendStored(nil, testNow, defaultTTL)
	again := &riemann.Event{}
	if err := again.ParseStored(bytes, kept); err != nil {
		t.Fatal(err)
	}
	return again
}

func TestOracleOnReceivedEvents(t *testing.T) {
	for i, row := range oracleRows(t) {
		if row.DefaultTTL != 0 {
			continue // no client can send such a ttl: only the server gives it
		}
		if got, _, err := answer(row.Query, received(t, row.Event)); got != row.Want {
			t.Errorf("row %d (%s): %q on %v: %s (%v), want %s, Riemann %s",
				i+1, row.Category, row.Query, row.Event, got, err, row.Want, row.Riemann)
		}
	}
}

// TestOracleOnStoredEvents: what a store must add to an event for replies changes
// no answer, and the default ttl is an integer.
func TestOracleOnStoredEvents(t *testing.T) {
	skipped := 0
	for i, row := range oracleRows(t) {
		if row.RawOnly {
			skipped++
			continue
		}
		ttl := float32(60)
		if row.DefaultTTL != 0 {
			ttl = float32(row.DefaultTTL)
		}
		if got, _, err := answer(row.Query, stored(t, row.Event, ttl)); got != row.Want {
			t.Errorf("row %d (%s): %q on %v: %s (%v), want %s, Riemann %s",
				i+1, row.Category, row.Query, row.Event, got, err, row.Want, row.Riemann)
		}
	}
	if skipped > 300 {
		t.Errorf("%d rows hold on received events only: too many to mean anything", skipped)
	}
}

// TestRawOnlyRows: the rows that a store may answer otherwise are exactly those
// that read the ttl of an event without one.
func TestRawOnlyRows(t *testing.T) {
	for i, row := range oracleRows(t) {
		q, err := Compile(row.Query)
		if err != nil {
			continue
		}
		reads := q.Needs()&riemann.HasTTL != 0 && row.Event.Ttl == nil && row.DefaultTTL == 0
		if reads && !row.RawOnly {
			t.Errorf("row %d: %q reads the ttl of an event without one, but RawOnly is not set", i+1, row.Query)
		}
	}
}

// TestDifferencesAreDocumented: docs/QUERY.md shows each query that is answered
// otherwise than by Riemann, under its reason.
func TestDifferencesAreDocumented(t *testing.T) {
	all, err := oracle.Differences()
	if err != nil {
		t.Fatal(err)
	}
	doc, err := os.ReadFile("../../docs/QUERY.md")
	if err != nil {
		t.Fatal(err)
	}
	const begin, end = "<!-- differences: begin -->\n", "<!-- differences: end -->"
	_, rest, ok := strings.Cut(string(doc), begin)
	shown, _, ok2 := strings.Cut(rest, end)
	if want := differencesTable(all); !ok || !ok2 || shown != want {
		t.Errorf("between %q and %q docs/QUERY.md must say:\n%s", begin, end, want)
	}
}

// differencesTable is the list of differences as docs/QUERY.md has it.
func differencesTable(all []oracle.Difference) string {
	var b strings.Builder
	for _, d := range all {
		fmt.Fprintf(&b, "%s\n\n", d.Reason)
		for _, q := range d.Queries {
			fmt.Fprintf(&b, "- `%s`\n", visible(q.Query))
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// visible writes characters that can't be seen as in Go.
func visible(s string) string {
	var b strings.Builder
	for _, r := range s {
		if r < ' ' || r == 0xA0 || r == 0x200B || r == 0xFEFF {
			fmt.Fprintf(&b, "\\u%04x", r)
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}
