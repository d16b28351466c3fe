package main

import (
	"testing"

	"google.golang.org/protobuf/proto"

	"darboux/handlers/query/oracle"
	"darboux/handlers/riemann/pb"
)

// Riemann's own answers hold for events as the daemon stores them and reads them again.
// All rows go over one connection, so that each query meets its row's event alone: it is
// stored, then the queries of its rows are asked, then it is deleted.
func TestOracle(t *testing.T) {
	rows, err := oracle.Rows()
	if err != nil {
		t.Fatal(err)
	}
	d := start(t, "--ttl", "60s", "--expire-every", "1h")
	c := dial(t, d.addr)
	groups, leftOut := rowsByEvent(rows)
	var stream []byte
	for _, g := range groups {
		stream = append(stream, g.frames(t)...)
	}
	go func() {
		if _, err := c.Write(stream); err != nil {
			t.Errorf("write: %v", err)
		}
	}()
	asked := 0
	for _, g := range groups {
		c.ack()
		for _, row := range g {
			asked++
			if got := answerOf(c.reply()); got != row.Want {
				t.Errorf("%s: %q on %v: %s, want %s, Riemann %s", row.Category, row.Query, row.Event, got, row.Want, row.Riemann)
			}
		}
		c.ack()
	}
	if len(c.query("true")) != 0 {
		t.Error("an event is left over")
	}
	t.Logf("%d rows asked on %d events, %d left out", asked, len(groups), leftOut)
	if leftOut > 300 {
		t.Errorf("%d rows of %d were left out: too many to mean anything", leftOut, len(rows))
	}
}

// A rowGroup is rows with the same event.
type rowGroup []oracle.Row

// rowsByEvent groups the rows that a server can be asked. It leaves out those that hold
// only for an event as received.
func rowsByEvent(rows []oracle.Row) (groups []rowGroup, leftOut int) {
	places := map[string]int{}
	for _, row := range rows {
		if row.RawOnly {
			leftOut++
			continue
		}
		key := row.Event.String()
		if _, ok := places[key]; !ok {
			places[key] = len(groups)
			groups = append(groups, nil)
		}
		groups[places[key]] = append(groups[places[key]], row)
	}
	return groups, leftOut
}

// frames are the Msgs by which the rows are asked.
func (g rowGroup) frames(t *testing.T) []byte {
	t.Helper()
	e := g[0].Event
	b := encoded(t, &pb.Msg{Events: []*pb.Event{e}})
	for _, row := range g {
		b = append(b, encoded(t, queryMsg(row.Query))...)
	}
	gone := &pb.Event{Host: e.Host, Service: e.Service, State: proto.String("expired")}
	return append(b, encoded(t, &pb.Msg{Events: []*pb.Event{gone}})...)
}

func answerOf(reply *pb.Msg) oracle.Answer {
	switch {
	case !reply.GetOk():
		return oracle.Error
	case len(reply.Events) > 0:
		return oracle.True
	}
	return oracle.False
}
