package main

import (
	"math"
	"slices"

	"darboux/loadtest/report"
	"darboux/loadtest/result"
)

// figure is one number that runs are compared by.
type figure struct {
	name         string
	moreIsBetter bool
	of           func(d *result.Document) float64 // NaN: not known
	text         func(v float64) string
}

// judged are the figures by which settings and servers are judged.
var judged = []figure{
	{"events/s", true, func(d *result.Document) float64 { return d.Rates.Events }, report.Rate},
	{"Msgs/s", true, func(d *result.Document) float64 { return d.Rates.Msgs }, report.Rate},
	{"p50", false, quantileOf(func(q *result.Quantiles) int64 { return q.P50 }), nanoseconds},
	{"p99", false, quantileOf(func(q *result.Quantiles) int64 { return q.P99 }), nanoseconds},
	{"p99.9", false, quantileOf(func(q *result.Quantiles) int64 { return q.P999 }), nanoseconds},
	{"server CPU s per million events", false, func(d *result.Document) float64 {
		return serverFigure(d, func(s *result.ServerCost) *float64 { return s.PerMEvents })
	}, plainNumber},
	{"server CPU s per million Msgs", false, func(d *result.Document) float64 {
		return serverFigure(d, func(s *result.ServerCost) *float64 { return s.PerMMsgs })
	}, plainNumber},
	{"server memory at most", false, func(d *result.Document) float64 {
		if d.ServerCost == nil {
			return math.NaN()
		}
		return float64(d.ServerCost.PeakRSS)
	}, report.Bytes},
}

func quantileOf(of func(*result.Quantiles) int64) func(*result.Document) float64 {
	return func(d *result.Document) float64 {
		if d.Latency.OK == nil {
			return math.NaN()
		}
		return float64(of(d.Latency.OK))
	}
}

func serverFigure(d *result.Document, of func(*result.ServerCost) *float64) float64 {
	if d.ServerCost == nil || of(d.ServerCost) == nil {
		return math.NaN()
	}
	return *of(d.ServerCost)
}

func nanoseconds(v float64) string { return report.Duration(int64(v)) }

// show writes a figure's value, which may be unknown.
func (f *figure) show(v float64) string {
	if math.IsNaN(v) {
		return "–"
	}
	return f.text(v)
}

// spread is the middle of some values and their extremes; unknown ones do not
// count.
type spread struct{ median, low, high float64 }

func spreadOf(values []float64) spread {
	known := slices.DeleteFunc(slices.Clone(values), math.IsNaN)
	if len(known) == 0 {
		return spread{math.NaN(), math.NaN(), math.NaN()}
	}
	slices.Sort(known)
	middle := known[len(known)/2]
	if len(known)%2 == 0 {
		middle = (middle + known[len(known)/2-1]) / 2
	}
	return spread{middle, known[0], known[len(known)-1]}
}

// over applies a figure to runs.
func (f *figure) over(runs []*result.Document) spread {
	var values []float64
	for _, d := range runs {
		values = append(values, f.of(d))
	}
	return spreadOf(values)
}
