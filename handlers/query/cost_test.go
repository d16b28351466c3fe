package query

import (
	"bytes"
	"testing"

	"darboux/handlers/riemann"
)

// A text at the limit is looked at, a longer one is not; the regular expressions of a query
// share the limit.
func TestMatchCost(t *testing.T) {
	for _, text := range []string{`description ~= "abcd"`, `description ~= "abcd" and description ~= "efgh" or host ~= "x"`} {
		q, err := Compile(text)
		if err != nil {
			t.Fatal(err)
		}
		testMatchCost(t, q)
	}
}

func testMatchCost(t *testing.T, q *Query) {
	t.Helper()
	longest := MaxMatchCost / q.Steps()
	if got := costOf(t, q, longest); got != nil {
		t.Errorf("%d steps on %d bytes: %v", q.Steps(), longest, got)
	}
	if got := costOf(t, q, longest+1); got == nil || got.Bytes != longest+1 || got.Steps != q.Steps() {
		t.Errorf("%d steps on %d bytes: %v; want the error that says so", q.Steps(), longest+1, got)
	}
}

func costOf(t *testing.T, q *Query, size int) (cost *CostError) {
	r := riemann.Record{Description: string(bytes.Repeat([]byte("x"), size))}
	var e riemann.Event
	if err := e.Parse(r.AppendEvent(nil)); err != nil {
		t.Fatal(err)
	}
	defer func() { cost, _ = recover().(*CostError) }()
	q.Match(&e)
	return nil
}
