package main

import (
	"slices"
	"strings"

	"darboux/frame"
	"darboux/handlers"
)

// writeLedger writes the last line: what the loops counted, and what must be zero.
func (s *server) writeLedger() bool {
	l := s.group.Ledger()
	fields := []any{"credits_out", l.CreditsOut, "reserved_bytes", l.Reserved}
	for _, stat := range slices.Concat(s.group.Stats(), s.work()) {
		fields = append(fields, ledgerKey(stat), stat.Value)
	}
	if !l.Balanced() {
		s.log.Error("ledger", append(fields, "error", "BUG: something is still owed at the end")...)
		return false
	}
	s.log.Info("ledger", fields...)
	return true
}

// work is what was done for peers, and refused, in few numbers.
func (s *server) work() []frame.Stat {
	all := named(slices.Concat(s.riemann.Stats(), s.queryLog.Stats()), "msgs", "events", "events refused", "queries")
	for _, l := range []*handlers.Lines{s.graphite, s.opentsdb} {
		all = append(all, named(l.Stats(), l.Name+" lines", l.Name+" events refused")...)
	}
	return append(all, named(slices.Concat(s.web.Stats(), s.api.Stats()), "http requests", "http events", "http events refused")...)
}

// named returns the stats of these names.
func named(stats []frame.Stat, names ...string) []frame.Stat {
	var found []frame.Stat
	for _, stat := range stats {
		if slices.Contains(names, stat.Name) {
			found = append(found, stat)
		}
	}
	return found
}

var ledgerKeys = strings.NewReplacer(": ", "_", " ", "_")

func ledgerKey(s frame.Stat) string { return ledgerKeys.Replace(s.Name) }
