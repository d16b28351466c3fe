package handlers

import (
	"bytes"
	"testing"

	"darboux/frame"
)

// Of a burst that a loop tries itself all is answered up to the first query, which is left
// to the handlers with all behind it; in the end the replies are the same.
func TestBriefMsgs(t *testing.T) {
	events, bad := encode(t, eventsOf(20)), []byte{0xff}
	ask := encode(t, queryOf(`service = "s7"`))
	both := eventsOf(3)
	both.Query = queryOf("true").Query
	for _, row := range []struct {
		name  string
		brief [][]byte // answered by the loop
		rest  [][]byte
	}{
		{"events", [][]byte{events, events, nil}, nil},
		{"no Msg", [][]byte{bad, events}, nil},
		{"a query among events", [][]byte{events, bad}, [][]byte{ask, events}},
		{"a query first", nil, [][]byte{ask, events}},
		{"events and a query in one Msg", [][]byte{events}, [][]byte{encode(t, both), ask}},
	} {
		t.Run(row.name, func(t *testing.T) {
			all := append(append([][]byte{}, row.brief...), row.rest...)
			want := newBench(nil).taken(t, newBurst(all...), nil)
			b, burst := newBench(nil), newBurst(all...)
			burst.Brief = true
			wantStatus := frame.Done
			switch {
			case len(row.rest) > 0 && len(row.brief) > 0:
				wantStatus = frame.Blocked // what is answered leaves
			case len(row.rest) > 0:
				wantStatus = frame.Yielded
			}
			status := b.worker.Work(burst)
			if left := len(newBurst(row.rest...).In); len(burst.Left()) != left || status != wantStatus {
				t.Errorf("status %v, and %d bytes are left; want %v and %d", status, len(burst.Left()), wantStatus, left)
			}
			if n := len(replies(t, burst.Out)); n != len(row.brief) {
				t.Errorf("%d replies of the loop; want %d", n, len(row.brief))
			}
			burst.Brief = false
			if got := append(leave(nil, burst), b.taken(t, burst, nil)...); !bytes.Equal(got, want) {
				t.Errorf("replies\n%q\nwant\n%q", got, want)
			}
		})
	}
}
