package report

import (
	"fmt"
	"math"
	"time"

	"github.com/dustin/go-humanize"
)

// Duration writes ns with three significant digits.
func Duration(ns int64) string {
	d := time.Duration(ns)
	for _, unit := range []time.Duration{time.Second, time.Millisecond, time.Microsecond} {
		if d >= unit {
			return d.Round(unit / rounding(float64(d)/float64(unit))).String()
		}
	}
	return d.String()
}

// rounding is the part of a unit that shows three digits of n units.
func rounding(n float64) time.Duration {
	switch {
	case n < 10:
		return 100
	case n < 100:
		return 10
	}
	return 1
}

// Number writes a number of things with thousands apart.
func Number(n int64) string { return humanize.Comma(n) }

// Rate writes a number a second.
func Rate(perSecond float64) string {
	if perSecond < 100 {
		return fmt.Sprintf("%.3g", perSecond)
	}
	return humanize.Comma(int64(math.Round(perSecond)))
}

// Bytes writes a size.
func Bytes(n float64) string { return humanize.IBytes(uint64(max(n, 0))) }

// maybe writes a figure that may be missing.
func maybe(v *float64, format string) string {
	if v == nil {
		return "–"
	}
	return fmt.Sprintf(format, *v)
}
