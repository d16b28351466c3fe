package main

import (
	"runtime/metrics"
	"time"

	"darboux/frame"
	"darboux/handlers"
	"darboux/handlers/series"
)

// metrics returns all that the daemon counts, always the same names in the same
// order. Any goroutine may call it.
func (s *server) metrics() []metric {
	var all []metric
	all = appendStats(all, s.group.Stats())
	all = appendStats(all, s.riemann.Stats())
	all = appendStats(all, s.queryLog.Stats())
	all = append(all, lineMetrics(s.graphite, s.o.Graphite)...)
	all = append(all, lineMetrics(s.opentsdb, s.o.OpenTSDB)...)
	if len(s.o.HTTP) > 0 {
		all = appendStats(all, s.web.Stats())
		all = appendStats(all, s.api.Stats())
	}
	all = append(all, s.reserveMetrics()...)
	if s.pool != nil {
		all = append(all, s.poolMetrics()...)
	}
	all = append(all, s.indexMetrics()...)
	if s.snapshots != nil {
		all = append(all, s.snapshots.metrics(time.Now())...)
	}
	all = append(all, s.cacheMetrics()...)
	if s.lines != nil {
		all = append(all, s.lines.metrics()...)
	}
	all = append(all, metric{"reports suppressed", "Log lines about peers left out to keep the log's rate.", counter, s.report.Suppressed()})
	return append(all, runtimeMetrics()...)
}

// appendStats takes over the stats of a part, with their help.
func appendStats(all []metric, stats []frame.Stat) []metric {
	for _, s := range stats {
		kind := counter
		if s.Gauge {
			kind = gauge
		}
		all = append(all, metric{s.Name, statHelp[s.Name], kind, s.Value})
	}
	return all
}

// lineMetrics are the counters of a protocol of lines, if it is open.
func lineMetrics(l *handlers.Lines, addresses []string) []metric {
	if len(addresses) == 0 {
		return nil
	}
	all := appendStats(nil, l.Stats())
	all[0].help = "Lines received by " + l.Name + "."
	all[1].help = "Events of " + l.Name + " lines that the index refused at its limits."
	for i := range all[2:] {
		all[2+i].help = lineHelp[series.TooLong+series.Problem(i)]
	}
	return all
}

func (s *server) reserveMetrics() []metric {
	r := s.group.Reserve()
	return []metric{
		{"reserve limit bytes", "The reserve for frames over --conn-memory and large replies: half of --memory.", gauge, int64(r.Limit)},
		{"reserve taken bytes", "Bytes of the reserve that are taken.", gauge, int64(r.Taken)},
		{"reserve waiting", "Frames that wait for bytes of the reserve.", gauge, int64(r.Waiting)},
		{"reserve waits", "Frames that had to wait for bytes of the reserve.", counter, int64(r.Waits)},
		{"reserve refused", "Replies for which the reserve had no room.", counter, int64(r.Refused)},
	}
}

func (s *server) poolMetrics() []metric {
	p := s.pool.Stats()
	return []metric{
		{"bursts worked", "Times a handler worked a burst or a slice of one.", counter, p.Worked},
		{"burst yields", "Times a burst let others go first in the middle of a query.", counter, p.Yields},
		{"handler parks", "Times a handler went to sleep for want of work.", counter, p.Parked},
		{"ring slots", "Slots of the ring from loops to handlers.", gauge, int64(p.Slots)},
		{"ring waiting", "Bursts in the ring that no handler has taken.", gauge, int64(p.Waiting)},
		{"bursts yielded", "Bursts that yielded and wait for their next slice.", gauge, int64(p.YieldedNow)},
	}
}

func (s *server) indexMetrics() []metric {
	i := s.store.Stats()
	return []metric{
		{"index entries", "Hosts and services that have an event.", gauge, i.Entries},
		{"index stored bytes", "Bytes of the indexed events in stored form.", gauge, i.StoredBytes},
		{"index entries limit", "The most entries (--index-entries); 0 is no limit.", gauge, int64(s.o.IndexEntries)},
		{"index held bytes", "Memory taken for the index.", gauge, i.HeldBytes},
		{"index limit bytes", "The most memory for the index (--index-memory).", gauge, s.o.IndexMemory},
		{"index free bytes", "Memory taken for the index that lies free between events.", gauge, i.FreeBytes},
		{"index inserts", "Events that made an entry.", counter, i.Inserted},
		{"index updates", "Events that replaced an entry's event.", counter, i.Updated},
		{"index deletes", "Entries deleted by an event with state expired.", counter, i.Deleted},
		{"index expirations", "Entries whose time to live was over.", counter, i.Expired},
		{"index older", "Events passed over because the entry's was newer.", counter, i.Older},
		{"index refused: entries", "Events refused for the limit of entries.", counter, i.RefusedEntries},
		{"index refused: memory", "Events refused for the limit of memory.", counter, i.RefusedMemory},
		{"index searches: by key", "Searches for one host and service.", counter, i.Searches.ByKey},
		{"index searches: by posting", "Searches through the postings of hosts, services, states or tags.", counter, i.Searches.ByPosting},
		{"index searches: by scan", "Searches through all entries; snapshots are some.", counter, i.Searches.ByScan},
		{"index entries looked at", "Entries that searches looked at.", counter, i.Searches.Looked},
		{"index pins", "Times that entries are held for searches and replies.", gauge, i.Pins},
		{"index orphan bytes", "Memory of old versions of entries that are only held for replies.", gauge, i.OrphanBytes},
		{"streams", "Replies on their way that keep something of the index.", gauge, i.Streams.Open},
		{"stream memory bytes", "Memory that replies on their way keep of the index.", gauge, i.Streams.Bytes},
		{"stream memory limit bytes", "The most memory that they may keep (--stream-memory).", gauge, s.o.StreamMemory},
		{"streams opened", "Replies that kept something of the index.", counter, i.Streams.Opened},
		{"streams broken", "Replies that were given up for want of stream memory.", counter, i.Streams.Broken},
		{"clock jumps", "Jumps of the wall clock that the reaper saw.", counter, i.ClockJumps},
	}
}

func (s *server) cacheMetrics() []metric {
	c := s.queries.Stats()
	return []metric{
		{"cached queries", "Compiled queries that are kept.", gauge, int64(c.Entries)},
		{"cached query limit", "The most compiled queries that are kept.", gauge, int64(c.MaxEntries)},
		{"cached query bytes", "Bytes of the compiled queries that are kept.", gauge, c.Bytes},
		{"cached query limit bytes", "The most bytes of compiled queries that are kept.", gauge, c.MaxBytes},
		{"query cache hits", "Queries whose compiled form was found.", counter, int64(c.Hits)},
		{"query cache misses", "Queries that had to be compiled.", counter, int64(c.Misses)},
		{"query cache evictions", "Compiled queries given up for others.", counter, int64(c.Evictions)},
		{"query cache too large", "Queries too large to be kept, compiled each time.", counter, int64(c.TooLarge)},
	}
}

func runtimeMetrics() []metric {
	samples := []metrics.Sample{
		{Name: "/sched/goroutines:goroutines"},
		{Name: "/memory/classes/heap/objects:bytes"},
		{Name: "/memory/classes/total:bytes"},
		{Name: "/gc/cycles/total:gc-cycles"},
	}
	metrics.Read(samples)
	value := func(i int) int64 { return int64(samples[i].Value.Uint64()) }
	return []metric{
		{"goroutines", "Goroutines of the process.", gauge, value(0)},
		{"heap bytes", "Bytes of live and not yet collected objects.", gauge, value(1)},
		{"runtime bytes", "Memory that the Go runtime has mapped.", gauge, value(2)},
		{"gc cycles", "Collections that were run.", counter, value(3)},
	}
}
