package measure

import (
	"time"

	"darboux/loadtest/result"

	"github.com/HdrHistogram/hdrhistogram-go"
)

const (
	longest   = int64(time.Hour) // the histograms' range: 1 ns to 1 h
	precision = 3                // significant digits
)

// Histogram counts latencies in ns to three significant digits. It is not for
// concurrent use.
type Histogram struct {
	h      *hdrhistogram.Histogram
	beyond int64
}

// NewHistogram returns an empty one.
func NewHistogram() *Histogram {
	return &Histogram{h: hdrhistogram.New(1, longest, precision)}
}

// Record counts n latencies of ns. What is longer than the range counts at its
// end; what is below 0 (a clock that stepped) is 0.
func (h *Histogram) Record(ns, n int64) {
	if ns > longest {
		h.beyond += n
		ns = longest
	}
	if err := h.h.RecordValues(max(ns, 0), n); err != nil {
		panic("BUG: a latency within the histogram's range is refused: " + err.Error())
	}
}

// Add counts all of from too.
func (h *Histogram) Add(from *Histogram) {
	if from.h.TotalCount() == 0 {
		return // a merge walks all buckets
	}
	if dropped := h.h.Merge(from.h); dropped > 0 {
		panic("BUG: histograms of one range do not merge")
	}
	h.beyond += from.beyond
}

// Reset empties h.
func (h *Histogram) Reset() {
	if h.h.TotalCount() > 0 {
		h.h.Reset()
	}
	h.beyond = 0
}

// Count is the number of latencies recorded.
func (h *Histogram) Count() int64 { return h.h.TotalCount() }

// HDR is the histogram itself, for its text form.
func (h *Histogram) HDR() *hdrhistogram.Histogram { return h.h }

// Quantiles summarizes h; nil if it is empty.
func (h *Histogram) Quantiles() *result.Quantiles {
	if h.h.TotalCount() == 0 {
		return nil
	}
	v := h.h.ValueAtPercentilesSlice([]float64{50, 75, 90, 95, 99, 99.9, 99.99})
	return &result.Quantiles{
		Count: h.h.TotalCount(), Min: h.h.Min(), Mean: int64(h.h.Mean()),
		P50: v[0], P75: v[1], P90: v[2], P95: v[3], P99: v[4], P999: v[5], P9999: v[6],
		Max: h.h.Max(), Beyond: h.beyond,
	}
}

// Spectrum is the percentile distribution, ever finer towards the end.
func (h *Histogram) Spectrum() []result.Point {
	points := []result.Point{}
	if h.h.TotalCount() == 0 {
		return points
	}
	for _, b := range h.h.CumulativeDistributionWithTicks(5) {
		points = append(points, result.Point{Quantile: b.Quantile / 100, Value: b.ValueAt, Count: b.Count})
	}
	return points
}
