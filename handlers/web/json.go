package web

import (
	"bytes"
	"math"
	"strconv"
	"time"
	"unicode/utf8"

	"darboux/handlers/riemann"
)

// fields says which fields of an event are shown; nil is all of them.
type fields map[string]bool

func (f fields) has(name string) bool { return f == nil || f[name] }

// jsonEvent appends events as JSON objects. It is reused from event to event.
type jsonEvent struct {
	fields fields
	dst    []byte
	first  bool
}

// appendTo appends e, a view of a stored event, to dst.
func (j *jsonEvent) appendTo(dst []byte, e *riemann.Event) []byte {
	j.dst, j.first = append(dst, '{'), true
	j.text("host", e.HostBytes())
	j.text("service", e.ServiceBytes())
	j.text("state", e.StateBytes())
	j.text("description", e.DescriptionBytes())
	if j.name("metric") {
		j.dst = appendJSONNumber(j.dst, e.Metric())
	}
	j.tags(e)
	if j.name("time") {
		j.dst = appendJSONTime(j.dst, e.TimeMicros)
	}
	if j.name("ttl") {
		j.dst = appendJSONFloat(j.dst, float64(e.TTL), 32)
	}
	j.attributes(e)
	return append(j.dst, '}')
}

// name begins the field of this name and reports whether it is shown.
func (j *jsonEvent) name(name string) bool {
	if !j.fields.has(name) {
		return false
	}
	j.key([]byte(name))
	return true
}

func (j *jsonEvent) key(key []byte) {
	if !j.first {
		j.dst = append(j.dst, ',')
	}
	j.first = false
	j.dst = append(appendJSONString(j.dst, key), ':')
}

func (j *jsonEvent) text(name string, value []byte) {
	if !j.name(name) {
		return
	}
	if value == nil {
		j.dst = append(j.dst, "null"...)
		return
	}
	j.dst = appendJSONString(j.dst, value)
}

// tags appends the tags; null if there are none.
func (j *jsonEvent) tags(e *riemann.Event) {
	if !j.name("tags") {
		return
	}
	if e.Set&riemann.HasTags == 0 {
		j.dst = append(j.dst, "null"...)
		return
	}
	open := byte('[')
	for it := e.Tags(); it.Next(); open = ',' {
		j.dst = appendJSONString(append(j.dst, open), it.Tag)
	}
	j.dst = append(j.dst, ']')
}

// fewAttributes is how many attributes are looked through for a later one of the same
// key; where there are more a map finds it, so that many cost no more each.
const fewAttributes = 16

// attributes appends the attributes as further fields, of those with the same key the
// last one.
func (j *jsonEvent) attributes(e *riemann.Event) {
	if e.Set&riemann.HasAttributes == 0 {
		return
	}
	n := 0
	for it := e.Attributes(); it.Next(); {
		n++
	}
	var last map[string]int
	if n > fewAttributes {
		last = make(map[string]int, n)
		for i, it := 0, e.Attributes(); it.Next(); i++ {
			last[string(it.Key)] = i
		}
	}
	for i, it := 0, e.Attributes(); it.Next(); i++ {
		again := it
		if riemann.IsCoreField(string(it.Key)) || !j.fields.has(string(it.Key)) ||
			last != nil && last[string(it.Key)] != i || last == nil && comesAgain(again) {
			continue
		}
		j.key(it.Key)
		j.dst = appendJSONString(j.dst, it.Value)
	}
}

// comesAgain reports whether a later attribute has the same key as the one at hand.
func comesAgain(it riemann.Attributes) bool {
	key := it.Key
	for it.Next() {
		if string(it.Key) == string(key) {
			return true
		}
	}
	return false
}

// appendJSONNumber appends a metric; null if there is none, or it is no number to JSON.
func appendJSONNumber(dst []byte, n riemann.Number) []byte {
	switch n.Kind {
	case riemann.Integer:
		return strconv.AppendInt(dst, n.Int, 10)
	case riemann.Float:
		start := len(dst)
		dst = appendJSONFloat(dst, n.Float, 64)
		if !bytes.ContainsAny(dst[start:], ".eln") { // with a point it is told from an integer
			dst = append(dst, ".0"...)
		}
		return dst
	}
	return append(dst, "null"...)
}

func appendJSONFloat(dst []byte, f float64, bits int) []byte {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return append(dst, "null"...)
	}
	form := byte('f')
	if a := math.Abs(f); a != 0 && (a < 1e-6 || a >= 1e21) {
		form = 'e'
	}
	return strconv.AppendFloat(dst, f, form, -1, bits)
}

// timeForm is ISO 8601 with milliseconds, in UTC.
const timeForm = "2006-01-02T15:04:05.000Z"

// appendJSONTime appends microseconds of the Unix epoch; null if the year has no four
// digits.
func appendJSONTime(dst []byte, micros int64) []byte {
	t := time.UnixMicro(micros).UTC()
	if t.Year() < 0 || t.Year() > 9999 {
		return append(dst, "null"...)
	}
	return append(t.AppendFormat(append(dst, '"'), timeForm), '"')
}

// plainJSON says which bytes stand for themselves in a string.
var plainJSON = func() (plain [utf8.RuneSelf]bool) {
	for c := byte(' '); c < utf8.RuneSelf; c++ {
		plain[c] = true
	}
	for _, c := range []byte("\"\\<>&\x7f") {
		plain[c] = false
	}
	return plain
}()

// appendJSONString appends s in quotes. What would end a script or a line in JavaScript
// (<, >, &, U+2028, U+2029) is escaped, invalid UTF-8 replaced by U+FFFD.
func appendJSONString(dst, s []byte) []byte {
	dst = append(dst, '"')
	from := 0
	for i := 0; i < len(s); {
		if c := s[i]; c < utf8.RuneSelf {
			if !plainJSON[c] {
				dst = appendJSONEscape(append(dst, s[from:i]...), rune(c))
				from = i + 1
			}
			i++
			continue
		}
		r, size := utf8.DecodeRune(s[i:])
		if r == utf8.RuneError && size == 1 || r == '\u2028' || r == '\u2029' {
			dst = appendJSONEscape(append(dst, s[from:i]...), r)
			from = i + size
		}
		i += size
	}
	return append(append(dst, s[from:]...), '"')
}

func appendJSONEscape(dst []byte, r rune) []byte {
	switch r {
	case '"', '\\':
		return append(dst, '\\', byte(r))
	case '\n':
		return append(dst, '\\', 'n')
	case '\r':
		return append(dst, '\\', 'r')
	case '\t':
		return append(dst, '\\', 't')
	}
	const hex = "0123456789abcdef"
	return append(dst, '\\', 'u', hex[r>>12&15], hex[r>>8&15], hex[r>>4&15], hex[r&15])
}
