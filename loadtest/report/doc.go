// Package report shows results: as text, as JSON, as HdrHistogram text, and as
// one self-contained page on which several runs stand side by side. It shows
// what is in a result.Document and computes nothing new but ratios between
// runs.
//
// The page's plots are drawn by uPlot, which is embedded with its licence.
package report
