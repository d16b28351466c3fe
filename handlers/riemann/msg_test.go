package riemann

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// field is a length-delimited field of a Msg.
func field(tag byte, value ...byte) []byte { return appendBytesField(nil, tag, value) }

func TestMsgAcceptedAsByProtobuf(t *testing.T) {
	event := field(tagEvents, tagHost, 1, 'a')
	for name, b := range map[string][]byte{
		"nothing":                  {},
		"ok":                       {tagOK, 1},
		"ok = 2":                   {tagOK, 2},
		"ok false":                 {tagOK, 0},
		"ok = 2^63":                cat([]byte{tagOK}, long(1<<63, 10)),
		"ok twice":                 {tagOK, 1, tagOK, 0},
		"error twice":              cat(field(tagError, 'a'), field(tagError)),
		"a legacy state":           field(tagStates, tagHost, 1, 'a', 6<<3, 1),
		"an empty event":           field(tagEvents),
		"events around others":     cat(event, field(tagStates), event, field(1<<3|wireBytes, 'x'), event, field(tagQuery)),
		"events as integers":       {6 << 3, 1},
		"a query without text":     field(tagQuery),
		"a query":                  field(tagQuery, tagString, 1, 'q'),
		"two texts":                field(tagQuery, tagString, 1, 'q', tagString, 1, 'r'),
		"two queries":              cat(field(tagQuery, tagString, 1, 'q'), field(tagQuery, tagString, 1, 'r')),
		"a second empty query":     cat(field(tagQuery, tagString, 1, 'q'), field(tagQuery)),
		"a second text, empty":     cat(field(tagQuery, tagString, 1, 'q'), field(tagQuery, tagString, 0)),
		"a query with text wrong":  field(tagQuery, 1<<3, 5),
		"a query with more":        field(tagQuery, 9<<3, 1, tagString, 1, 'q'),
		"a tag of three bytes":     cat(long(tagEvents, 3), []byte{0}),
		"an unknown group":         {9<<3 | wireGroup, 9<<3 | wireEnd},
		"a state's tags and so on": field(tagStates, 7<<3|wireBytes, 0, 8<<3|wireFixed32, 1, 2, 3, 4),
	} {
		t.Run(name, func(t *testing.T) {
			var m Msg
			if err := m.Parse(b, 0); err != nil {
				t.Errorf("refused: %v", err)
			}
			checkMsg(t, &m, b)
		})
	}
}

func TestMsgRefusedAsByProtobuf(t *testing.T) {
	good := field(tagEvents, tagHost, 1, 'a') // 5 bytes
	for name, c := range map[string]struct {
		b    []byte
		want string
	}{
		"an event cut off":         {cat(good, []byte{tagEvents, 4, tagHost}), "at byte 5, in the Msg: a length runs past the end"},
		"a bad event":              {cat(good, field(tagEvents, tagTime, 1, tagHost, 9)), "at byte 9, in events[1]: a length runs past the end"},
		"an attribute without key": {cat(good, good, field(tagEvents, tagAttributes, 2, tagValue, 0)), "at byte 14, in events[2].attributes[0]: the required key is missing"},
		"a bad state":              {cat(field(tagStates), field(tagStates, tagHost, 5)), "at byte 4, in states[1]: a length runs past the end"},
		"a bad query":              {field(tagQuery, tagString, 5), "at byte 2, in query: a length runs past the end"},
		"field number 0":           {cat(good, []byte{0, 0}), "at byte 5, in the Msg: a field number is 0 or over 536870911"},
		"ok missing":               {[]byte{tagOK}, "at byte 0, in the Msg: the bytes end within a field"},
		"error cut off":            {[]byte{tagError, 1}, "at byte 0, in the Msg: a length runs past the end"},
	} {
		t.Run(name, func(t *testing.T) {
			var m Msg
			err := m.Parse(c.b, 0)
			if err == nil {
				t.Fatal("accepted")
			}
			if got := strings.TrimPrefix(err.Error(), "undecodable message: "); got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
			checkMsg(t, &m, c.b)
		})
	}
}

// TestMsgLikeProtobuf draws messages that protobuf accepts and damages some.
func TestMsgLikeProtobuf(t *testing.T) {
	var m Msg
	rapid.Check(t, func(t *rapid.T) {
		b := wireMsg().Draw(t, "msg")
		checkMsg(t, &m, b)
		if len(b) == 0 {
			return
		}
		checkMsg(t, &m, b[:rapid.IntRange(0, len(b)-1).Draw(t, "cut at")])
		b[rapid.IntRange(0, len(b)-1).Draw(t, "damaged at")] = rapid.Byte().Draw(t, "damage")
		checkMsg(t, &m, b)
	})
}

// numbered is a Msg of n events with services 0, 1, …, some of them, where
// large says so, over 100 bytes.
func numbered(n int, large func(i int) bool) []byte {
	var b []byte
	for i := range n {
		r := Record{Service: fmt.Sprint(i)}
		if large(i) {
			r.Description = strings.Repeat("x", 100)
		}
		b = r.AppendField(b)
	}
	return b
}

// TestMsgInBatches takes Msgs of more events than are viewed at once, with
// events too large among them, and wants each other one once, in order.
func TestMsgInBatches(t *testing.T) {
	var m Msg
	for _, n := range []int{0, 1, batchEvents - 1, batchEvents, batchEvents + 1, 3*batchEvents + 7} {
		for _, every := range []int{1, 2, 5, n + 1} {
			large := func(i int) bool { return i%every == every-1 }
			if err := m.Parse(numbered(n, large), 100); err != nil {
				t.Fatal(err)
			}
			next, taken := 0, 0
			for m.Next() {
				if len(m.Events) == 0 || len(m.Events) > batchEvents {
					t.Fatalf("%d events at once", len(m.Events))
				}
				for i := range m.Events {
					for large(next) {
						next++
					}
					if got := string(m.Events[i].ServiceBytes()); got != fmt.Sprint(next) {
						t.Fatalf("n = %d, every %d: got event %s, want %d", n, every, got, next)
					}
					next++
					taken++
				}
			}
			if taken != n-n/every || m.Count != taken || m.Skipped != n/every {
				t.Errorf("n = %d, every %d: %d taken, Count %d, Skipped %d", n, every, taken, m.Count, m.Skipped)
			}
			if m.Next() || len(m.Events) != 0 {
				t.Errorf("n = %d, every %d: events after the end", n, every)
			}
		}
	}
}

func TestMsgSkipsLargeEvents(t *testing.T) {
	small, exact := field(tagEvents, tagHost, 1, 'a'), field(tagEvents, tagHost, 2, 'b', 'b')
	large, larger := field(tagEvents, tagHost, 3, 'c', 'c', 'c'), field(tagEvents, tagHost, 4, 'd', 'd', 'd', 'd')
	var m Msg
	if err := m.Parse(cat(large, small, larger, large, exact), 4); err != nil {
		t.Fatal(err)
	}
	if m.Count != 2 || m.Skipped != 3 || m.Largest != 6 {
		t.Errorf("Count %d, Skipped %d, Largest %d; want 2, 3, 6", m.Count, m.Skipped, m.Largest)
	}
	if !m.Next() || len(m.Events) != 2 || string(m.Events[0].HostBytes()) != "a" || string(m.Events[1].HostBytes()) != "bb" {
		t.Errorf("events %v", m.Events)
	}
	bad := field(tagEvents, tagHost, 9, 'c', 'c', 'c', 'c')
	if err := m.Parse(cat(small, bad), 4); err == nil {
		t.Error("an event that is both too large and wrong was taken for a large one")
	}
}

func TestMsgReused(t *testing.T) {
	var m Msg
	full := cat([]byte{tagOK, 1}, field(tagError, 'e'), field(tagQuery, tagString, 1, 'q'), field(tagStates), field(tagEvents))
	if err := m.Parse(full, 0); err != nil || !m.Next() {
		t.Fatal(err)
	}
	if err := m.Parse(nil, 0); err != nil {
		t.Fatal(err)
	}
	if m.HasOK || m.OK || m.HasError || m.Error != nil || m.HasQuery || m.Query != nil || m.States != 0 || m.Count != 0 || m.Next() {
		t.Errorf("a reused view still shows the last message: %+v", m)
	}
}

func TestMsgReset(t *testing.T) {
	var m Msg
	if err := m.Parse(cat(typicalMsg(5), field(tagQuery, tagString, 1, 'q')), 0); err != nil || !m.Next() {
		t.Fatal(err)
	}
	m.Reset()
	if m.frame != nil || m.Query != nil || m.Events != nil || m.HasQuery || m.Next() {
		t.Errorf("after Reset: %+v", m)
	}
	for i := range m.room {
		if m.room[i].Raw != nil {
			t.Errorf("view %d still holds the frame", i)
		}
	}
	checkMsg(t, &m, typicalMsg(2))
}

// TestMsgHoldsLittle gives a frame of nothing but empty events: what the Msg
// holds must not grow with their number.
func TestMsgHoldsLittle(t *testing.T) {
	var m Msg
	if err := m.Parse(bytes.Repeat([]byte{tagEvents, 0}, 1<<20), 0); err != nil {
		t.Fatal(err)
	}
	if m.Count != 1<<20 || cap(m.room) > 2*batchEvents {
		t.Errorf("Count %d, room for %d views", m.Count, cap(m.room))
	}
}

func TestNothingAllocates(t *testing.T) {
	var (
		m      Msg
		e, v   Event
		stored []byte
	)
	frame := cat(typicalMsg(3), field(tagQuery, tagString, 1, 'q'), field(tagStates, tagHost, 1, 'h'))
	all := typical()
	all.Set |= HasSint64
	mixed := all.AppendEvent(nil)
	reply := make([]byte, 0, 1<<12)
	for name, f := range map[string]func(){
		"Msg": func() {
			if m.Parse(frame, 1<<20) != nil || !m.Next() {
				t.Fatal("refused")
			}
		},
		"Event, stored and read again": func() {
			if e.Parse(mixed) != nil {
				t.Fatal("refused")
			}
			stored = e.AppendStored(stored[:0], 1, 60)
			if v.ParseStored(stored, e.Kept()) != nil || v.ParseStoredFields(stored, e.Kept(), HasHost) != nil {
				t.Fatal("refused")
			}
		},
		"lists": func() {
			if e.Parse(mixed) != nil || !e.Tagged("storage") {
				t.Fatal("no tag")
			}
			if _, ok := e.Attribute("datacenter"); !ok {
				t.Fatal("no attribute")
			}
		},
		"reply": func() {
			reply = AppendEventField(BeginReply(reply[:0]), mixed)
			EndFrame(reply, 0)
		},
		"record": func() { reply = all.AppendField(BeginFrame(reply[:0])) },
		"error":  func() { reply = AppendError(reply[:0], "parse error") },
	} {
		f()
		if n := testing.AllocsPerRun(100, f); n != 0 {
			t.Errorf("%s: %v allocations", name, n)
		}
	}
}

// The events of frames parsed one behind the other come up in their order, those of
// refused frames not at all.
func TestParseMore(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var m Msg
		var want, got []string
		take := func() {
			for m.Next() {
				for i := range m.Events {
					got = append(got, string(m.Events[i].ServiceBytes()))
				}
			}
		}
		for n := range rapid.IntRange(1, 20).Draw(t, "frames") {
			var frame []byte
			bad := rapid.IntRange(0, 4).Draw(t, "bad") == 0
			for i := range rapid.SampledFrom([]int{0, 1, 3, batchEvents - 1, batchEvents, batchEvents + 1}).Draw(t, "events") {
				r := Record{Service: fmt.Sprint(n, ":", i)}
				frame = r.AppendField(frame)
				if !bad {
					want = append(want, r.Service)
				}
			}
			if bad {
				frame = append(frame, 0xff)
			}
			if err := m.ParseMore(frame, 0); (err != nil) != bad {
				t.Fatalf("frame %d: error %v", n, err)
			}
			if !m.Whole() || rapid.Bool().Draw(t, "take") {
				take()
			}
		}
		take()
		if !slices.Equal(got, want) {
			t.Fatalf("%d events came up; want %d, in their order", len(got), len(want))
		}
	})
}
