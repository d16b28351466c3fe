package index

import "fmt"

// checkPins compares the pins with what streams have found and not let go of. Nobody may
// search or change the index meanwhile.
func (x *Index) checkPins() error {
	want, lists := x.pinsOfStreams()
	used, orphans := lists, int64(0)
	for i, s := range x.shards {
		if err := s.checkPins(want[i]); err != nil {
			return fmt.Errorf("shard %d: %w", i, err)
		}
		used += s.counts.OrphanBytes + int64(len(s.manyPins))*manyPinsBytes
		orphans += s.counts.OrphanBytes
	}
	if n := x.streams.used.Load(); n != used {
		return fmt.Errorf("streams take %d bytes, but %d are counted", used, n)
	}
	if n := x.streams.orphans.Load(); n != orphans {
		return fmt.Errorf("orphans take %d bytes, but %d are counted", orphans, n)
	}
	return nil
}

// pinsOfStreams counts for each shard how often streams have an entry pinned, and the bytes
// of the streams' lists.
func (x *Index) pinsOfStreams() (pins []map[ref]int, lists int64) {
	pins = make([]map[ref]int, len(x.shards))
	for i := range pins {
		pins[i] = map[ref]int{}
	}
	m := &x.streams
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, all := range [][]*stream{m.open, m.closing} {
		for _, st := range all {
			st.mu.Lock()
			lists += st.countPins(pins)
			st.mu.Unlock()
		}
	}
	return pins, lists
}

func (st *stream) countPins(pins []map[ref]int) (lists int64) {
	at := 0
	for _, p := range st.parts {
		for range p.n {
			if at >= st.freed {
				pins[p.shard][st.ref(at)]++
			}
			at++
		}
	}
	for _, b := range st.blocks {
		if b != nil {
			lists += blockBytes
		}
	}
	return lists
}

// checkPins compares the counts of pins with those that there should be.
func (s *shard) checkPins(want map[ref]int) error {
	total, orphans, many := int64(0), int64(0), 0
	for at, n := range want {
		x := s.entry(at)
		if got := s.pins(x, at); got != n {
			return fmt.Errorf("the entry at %d has %d pins, should have %d", at, got, n)
		}
		if x.id == orphanID {
			orphans += x.chunkBytes()
		} else if s.ids.ref(x.id) != at {
			return fmt.Errorf("the entry at %d is pinned, is no orphan, and lies elsewhere", at)
		}
		if n > mostPins {
			many++
		}
		total += int64(n)
	}
	for id := range s.ids.used {
		if at := s.ids.ref(id); at != 0 && s.pins(s.entry(at), at) != want[at] {
			return fmt.Errorf("entry %d has pins that nobody has", id)
		}
	}
	switch {
	case total != s.counts.Pins:
		return fmt.Errorf("there are %d pins, but %d are counted", total, s.counts.Pins)
	case orphans != s.counts.OrphanBytes:
		return fmt.Errorf("orphans take %d bytes, but %d are counted", orphans, s.counts.OrphanBytes)
	case many != len(s.manyPins):
		return fmt.Errorf("%d entries have many pins, but %d are listed", many, len(s.manyPins))
	}
	return nil
}
