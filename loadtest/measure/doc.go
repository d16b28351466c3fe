// Package measure records what happens to requests, cheaply and without loss: a
// Recorder for each core, written to by connections in batches, and a Meter
// that reads them all each interval.
//
// A request belongs to the measured ones if its intended start lies in the
// Window; everything else (warm-up) is in the overall ledger and in the series
// but in no percentile. It never reads a clock: times are ns since the run's
// start, given by the caller.
package measure
