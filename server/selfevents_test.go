package main

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"darboux/handlers/riemann"
)

// tookEvents notes what a round of self events gives to the index.
type tookEvents []string

func (s *tookEvents) Apply(events []riemann.Event, now int64, refused []bool) int {
	for i := range events {
		e := &events[i]
		var tags []string
		for it := e.Tags(); it.Next(); {
			tags = append(tags, string(it.Tag))
		}
		*s = append(*s, fmt.Sprintf("%s|%s|%s|%v|%v|%v|%v|%v", e.HostBytes(), e.ServiceBytes(), e.DescriptionBytes(),
			e.Metric().Int, e.TTL, e.TimeMicros, now, tags))
	}
	return 0
}

func TestSelfEventsRound(t *testing.T) {
	value := int64(41)
	metrics := func() []metric {
		value++
		return []metric{
			{"frames answered", "Frames that got their reply.", counter, value},
			{"connections open", "Connections open now.", gauge, 0},
		}
	}
	var got tookEvents
	s := newSelfEvents("here", 10*time.Second, metrics, &got)
	s.round(time.UnixMicro(7_000_001))
	s.round(time.UnixMicro(8_000_000))
	want := []string{
		"here|darboux frames answered|Frames that got their reply.|42|30|7000001|7000001|[darboux counter]",
		"here|darboux connections open|Connections open now.|0|30|7000001|7000001|[darboux gauge]",
		"here|darboux frames answered|Frames that got their reply.|43|30|8000000|8000000|[darboux counter]",
		"here|darboux connections open|Connections open now.|0|30|8000000|8000000|[darboux gauge]",
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}
