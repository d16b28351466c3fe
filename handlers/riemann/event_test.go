package riemann

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"
	"pgregory.net/rapid"
)

// long is a varint that decodes to v in so many bytes.
func long(v uint64, size int) []byte {
	b := protowire.AppendVarint(nil, v)
	for len(b) < size {
		b[len(b)-1] |= 0x80
		b = append(b, 0)
	}
	return b
}

// nested is a field 6 of groups within groups, depth deep.
func nested(depth int) []byte {
	return append(bytes.Repeat([]byte{6<<3 | wireGroup}, depth), bytes.Repeat([]byte{6<<3 | wireEnd}, depth)...)
}

func cat(parts ...[]byte) []byte { return bytes.Join(parts, nil) }

func TestEventAcceptedAsByProtobuf(t *testing.T) {
	for name, b := range map[string][]byte{
		"nothing":                       {},
		"empty host":                    {tagHost, 0},
		"host twice":                    {tagHost, 1, 'a', tagHost, 1, 'b'},
		"host, then empty host":         {tagHost, 1, 'a', tagHost, 0},
		"host as an integer":            {4 << 3, 5},
		"host, then as an integer":      {tagHost, 1, 'a', 4 << 3, 5},
		"host as a group":               {4<<3 | wireGroup, 4<<3 | wireEnd},
		"time as a string":              {1<<3 | wireBytes, 1, 'x'},
		"ttl as a double":               {8<<3 | wireFixed64, 1, 2, 3, 4, 5, 6, 7, 8},
		"metric_d as a float":           {14<<3 | wireFixed32, 1, 2, 3, 4},
		"tag in two bytes":              {0x80 | tagHost, 0, 1, 'a'},
		"tag in ten bytes":              cat(long(tagHost, 10), []byte{1, 'a'}),
		"length in ten bytes":           cat([]byte{tagHost}, long(1, 10), []byte("a")),
		"integer in ten bytes":          cat([]byte{tagTime}, long(7, 10)),
		"integer in eight bytes":        cat([]byte{tagTime}, long(7, 8)),
		"integer in nine bytes":         cat([]byte{tagTime}, long(7, 9)),
		"integer at the end":            {tagTime, 7},
		"negative integers":             cat([]byte{tagTime}, long(1<<64-1, 10), []byte{tagSint64}, long(1<<64-1, 10)),
		"smallest and largest sint64":   cat([]byte{tagSint64}, long(1<<64-1, 10), []byte{tagSint64}, long(1<<64-2, 10)),
		"largest field number":          cat(long(536870911<<3, 5), []byte{1}),
		"a group of everything":         {6<<3 | wireGroup, 1 << 3, 1, tagHost, 1, 'a', 8<<3 | wireFixed32, 1, 2, 3, 4, 6<<3 | wireEnd},
		"groups 10001 deep":             nested(10001),
		"group with huge numbers":       cat([]byte{6<<3 | wireGroup}, long(0x7fffffff<<3, 5), []byte{1, 6<<3 | wireEnd}),
		"no UTF-8":                      {tagHost, 2, 0xff, 0xfe},
		"an attribute":                  {tagAttributes, 6, tagKey, 1, 'k', tagValue, 1, 'v'},
		"an attribute backwards":        {tagAttributes, 6, tagValue, 1, 'v', tagKey, 1, 'k'},
		"an attribute without value":    {tagAttributes, 3, tagKey, 1, 'k'},
		"an attribute with empty key":   {tagAttributes, 2, tagKey, 0},
		"an attribute's fields doubled": {tagAttributes, 12, tagKey, 1, 'k', tagValue, 1, 'v', tagKey, 1, 'l', tagValue, 1, 'w'},
		"an attribute and more":         {tagAttributes, 8, tagKey, 1, 'k', 7 << 3, 1, tagValue, 1, 'v'},
		"tags and attributes mixed": {tagTags, 1, 'a', tagAttributes, 2, tagKey, 0, tagHost, 1, 'h', tagTags, 0,
			tagAttributes, 3, tagKey, 1, 'k', tagTags, 1, 'b'},
	} {
		t.Run(name, func(t *testing.T) {
			var e Event
			if err := e.Parse(b); err != nil {
				t.Errorf("refused: %v", err)
			}
			checkEvent(t, b)
		})
	}
}

func TestEventRefusedAsByProtobuf(t *testing.T) {
	for name, c := range map[string]struct {
		b    []byte
		want string // of the error, behind "undecodable message: "
	}{
		"tag cut off":            {[]byte{0x80}, "at byte 0, in the event: the bytes end within a field"},
		"length missing":         {[]byte{tagTime, 1, tagHost}, "at byte 2, in the event: the bytes end within a field"},
		"length cut off":         {[]byte{tagHost, 0x80}, "at byte 0, in the event: the bytes end within a field"},
		"length too large":       {[]byte{tagHost, 2, 'a'}, "at byte 0, in the event: a length runs past the end"},
		"huge length":            {cat([]byte{tagHost}, long(1<<64-1, 10)), "at byte 0, in the event: a length runs past the end"},
		"length over 64 bits":    {cat([]byte{tagHost}, bytes.Repeat([]byte{0x80}, 9), []byte{2}), "at byte 0, in the event: a varint is longer than 64 bits"},
		"integer missing":        {[]byte{tagTime}, "at byte 0, in the event: the bytes end within a field"},
		"integer over 64 bits":   {cat([]byte{tagTime}, bytes.Repeat([]byte{0xff}, 9), []byte{2}), "at byte 0, in the event: a varint is longer than 64 bits"},
		"integer of 11 bytes":    {cat([]byte{tagTime}, bytes.Repeat([]byte{0x80}, 10), []byte{0}), "at byte 0, in the event: a varint is longer than 64 bits"},
		"float cut off":          {[]byte{tagTTL, 1, 2, 3}, "at byte 0, in the event: the bytes end within a field"},
		"double cut off":         {[]byte{tagD, 1, 2, 3, 4, 5, 6, 7}, "at byte 0, in the event: the bytes end within a field"},
		"field number 0":         {[]byte{0, 0}, "at byte 0, in the event: a field number is 0 or over 536870911"},
		"field number 0, bytes":  {[]byte{2, 0}, "at byte 0, in the event: a field number is 0 or over 536870911"},
		"field number too large": {cat(long(536870912<<3|wireBytes, 5), []byte{0}), "at byte 0, in the event: a field number is 0 or over 536870911"},
		"wire type 6":            {[]byte{4<<3 | 6, 0}, "at byte 0, in the event: a wire type is 6 or 7"},
		"wire type 7":            {[]byte{4<<3 | 7, 0}, "at byte 0, in the event: a wire type is 6 or 7"},
		"end of a group":         {[]byte{4<<3 | wireEnd}, "at byte 0, in the event: a group ends that never began"},
		"group left open":        {[]byte{4<<3 | wireGroup, 8, 1}, "at byte 0, in the event: a group is not closed, or nested too deep"},
		"groups crossed":         {[]byte{0x33, 0x3b, 0x34, 0x3c}, "at byte 0, in the event: a group is not closed, or nested too deep"},
		"groups 10002 deep":      {nested(10002), "at byte 0, in the event: a group is not closed, or nested too deep"},
		"unknown field cut off":  {[]byte{6<<3 | wireFixed32, 0}, "at byte 0, in the event: the bytes end within a field"},
		"attribute without key": {[]byte{tagAttributes, 3, tagKey, 1, 'k', tagAttributes, 3, tagValue, 1, 'v'},
			"at byte 7, in attributes[1]: the required key is missing"},
		"empty attribute": {[]byte{tagHost, 0, tagAttributes, 0}, "at byte 4, in attributes[0]: the required key is missing"},
		"key as an integer": {[]byte{tagAttributes, 2, 1 << 3, 5},
			"at byte 2, in attributes[0]: the required key is missing"},
		"attribute cut off": {[]byte{tagAttributes, 4, tagKey, 1, 'k', tagValue}, "at byte 5, in attributes[0]: the bytes end within a field"},
		"attribute with a group left open": {field(tagAttributes, tagKey, 1, 'k', 2<<3|wireGroup, 0),
			"at byte 5, in attributes[0]: a group is not closed, or nested too deep"},
		"attribute with more behind, cut off": {field(tagAttributes, tagKey, 1, 'k', tagValue, 1, 'v', tagValue, 9),
			"at byte 8, in attributes[0]: a length runs past the end"},
		"attribute with a long key, value cut off": {field(tagAttributes, cat([]byte{tagKey}, long(129, 2),
			bytes.Repeat([]byte{tagValue}, 130), []byte{99}, make([]byte, 17))...),
			"at byte 135, in attributes[0]: a length runs past the end"},
		"attribute with a long value, cut off": {field(tagAttributes, cat([]byte{tagKey, 1, 'k', tagValue, 0x81, 0x7f}, make([]byte, 128))...),
			"at byte 6, in attributes[0]: a length runs past the end"},
	} {
		t.Run(name, func(t *testing.T) {
			var e Event
			err := e.Parse(c.b)
			var wire *Error
			if !errors.As(err, &wire) {
				t.Fatalf("got %v, want an *Error", err)
			}
			if got := strings.TrimPrefix(err.Error(), "undecodable message: "); got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
			checkEvent(t, c.b)
		})
	}
}

// TestEventLikeProtobuf draws events that protobuf accepts and damages some.
func TestEventLikeProtobuf(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := wireEvent().Draw(t, "event")
		checkEvent(t, b)
		if len(b) == 0 {
			return
		}
		checkEvent(t, b[:rapid.IntRange(0, len(b)-1).Draw(t, "cut at")])
		b[rapid.IntRange(0, len(b)-1).Draw(t, "damaged at")] = rapid.Byte().Draw(t, "damage")
		checkEvent(t, b)
	})
}

func TestEventReused(t *testing.T) {
	var e, fresh Event
	if err := e.Parse(typical().AppendEvent(nil)); err != nil {
		t.Fatal(err)
	}
	b := []byte{tagService, 1, 's'}
	if e.Parse(b) != nil || fresh.Parse(b) != nil {
		t.Fatal("refused")
	}
	if e.Set != HasService || e.HostBytes() != nil || e.Time != 0 || e.D != 0 || e.TTL != 0 || e.Tagged("storage") {
		t.Errorf("a reused view still shows the last event: %+v", e)
	}
	if it := e.Attributes(); it.Next() {
		t.Errorf("a reused view still shows the last event's attribute %q", it.Key)
	}
}

func TestIsExpired(t *testing.T) {
	for state, want := range map[string]bool{"expired": true, "Expired": false, "": false, "expired ": false} {
		var e Event
		r := Record{Set: HasState, State: state}
		if err := e.Parse(r.AppendEvent(nil)); err != nil || e.IsExpired() != want {
			t.Errorf("state %q: %v, %v", state, e.IsExpired(), err)
		}
	}
}

func TestTagged(t *testing.T) {
	var e Event
	r := Record{Tags: []string{"a", "", "bb"}}
	if err := e.Parse(r.AppendEvent(nil)); err != nil {
		t.Fatal(err)
	}
	for tag, want := range map[string]bool{"a": true, "": true, "bb": true, "b": false, "A": false} {
		if e.Tagged(tag) != want {
			t.Errorf("Tagged(%q) = %v", tag, !want)
		}
	}
}

func TestAttribute(t *testing.T) {
	var e Event
	r := Record{Host: "h", Attributes: []Pair{{"a", "1"}, {"empty", ""}, {"a", "2"}, {"host", "evil"}, {"metric", "9"}}}
	b := append(r.AppendEvent(nil), tagAttributes, 3, tagKey, 1, 'n')
	if err := e.Parse(b); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		key, value string
		ok         bool
	}{
		{"a", "2", true}, {"empty", "", true}, {"n", "", true}, {"b", "", false},
		{"host", "", false}, {"metric", "", false}, {"ttl", "", false},
	} {
		if v, ok := e.Attribute(c.key); string(v) != c.value || ok != c.ok {
			t.Errorf("Attribute(%q) = %q, %v; want %q, %v", c.key, v, ok, c.value, c.ok)
		}
	}
}
