package oracle

import (
	"math"
	"testing"
)

// TestRowsAreRead: all rows are there, the rows of a query stand together, and
// numbers lose nothing on the way.
func TestRowsAreRead(t *testing.T) {
	rows, err := Rows()
	if err != nil {
		t.Fatal(err)
	}
	queries := map[string]bool{}
	answers := map[Answer]int{}
	var nan, negativeZero, maxInt, defaultTTL bool
	for _, row := range rows {
		queries[row.Query] = true
		answers[row.Riemann]++
		e := row.Event
		d := e.GetMetricD()
		nan = nan || d != d
		negativeZero = negativeZero || e.MetricD != nil && math.Float64bits(d) == 1<<63
		maxInt = maxInt || e.GetMetricSint64() == math.MaxInt64
		defaultTTL = defaultTTL || row.DefaultTTL == 60 && e.Ttl == nil
	}
	if len(rows) != 6476 || len(queries) != 1051 || answers[True] != 2035 || answers[False] != 4272 || answers[Error] != 169 {
		t.Errorf("%d rows, %d queries, answers %v", len(rows), len(queries), answers)
	}
	if !nan || !negativeZero || !maxInt || !defaultTTL {
		t.Error("NaN, -0.0, the largest integer or the default ttl are missing", nan, negativeZero, maxInt, defaultTTL)
	}
}

// TestDifferencesDiffer: a listed difference names a query of the rows, and at
// least one answer to it that is not Riemann's.
func TestDifferencesDiffer(t *testing.T) {
	rows, err := Rows()
	if err != nil {
		t.Fatal(err)
	}
	for _, bad := range []Differs{
		{"no such query", []Answer{True}},
		{rows[0].Query, []Answer{rows[0].Riemann}},
	} {
		mine := rowsOf(rows, bad.Query)
		for len(bad.Here) < len(mine) {
			bad.Here = append(bad.Here, mine[len(bad.Here)].Riemann)
		}
		if bad.apply(mine) == nil {
			t.Errorf("%q was taken for a difference", bad.Query)
		}
	}
}

func rowsOf(rows []Row, query string) []*Row {
	var mine []*Row
	for i := range rows {
		if rows[i].Query == query {
			mine = append(mine, &rows[i])
		}
	}
	return mine
}
