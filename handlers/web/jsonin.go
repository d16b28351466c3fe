package web

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"darboux/handlers/riemann"
)

// mostParts is the most values that an event as JSON may have in it: its fields, and what
// stands in arrays. Many small ones cost far more time and memory than their bytes.
const mostParts = 10_000

// tooManyParts reports whether a JSON text has more values than mostParts, by the commas
// between them, before any is decoded.
func tooManyParts(text []byte) bool {
	if bytes.Count(text, []byte(",")) < mostParts {
		return false // whether or not they stand in strings
	}
	commas, quoted := 0, false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '"':
			quoted = !quoted
		case c == '\\' && quoted:
			i++
		case c == ',' && !quoted:
			commas++
		}
	}
	return commas >= mostParts
}

// coreFields are the fields of an event that are no attributes.
var coreFields = [...]string{"host", "service", "state", "description", "metric", "tags", "time", "ttl"}

// recordOf makes an event of the fields of jsonEvent, any of which may be missing or null,
// and of attributes, which are further fields. Errors name the field, the same one each
// time.
func recordOf(given map[string]any) (*riemann.Record, error) {
	r := &riemann.Record{}
	for _, name := range coreFields {
		if err := setField(r, name, given[name]); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		delete(given, name)
	}
	if len(given) == 0 {
		return r, nil
	}
	for _, name := range slices.Sorted(maps.Keys(given)) {
		if err := addAttribute(r, name, given[name]); err != nil {
			return nil, fmt.Errorf("%.60s: %w", name, err)
		}
	}
	return r, nil
}

func setField(r *riemann.Record, name string, value any) error {
	if value == nil {
		return nil
	}
	switch name {
	case "host":
		return setText(r, riemann.HasHost, &r.Host, value)
	case "service":
		return setText(r, riemann.HasService, &r.Service, value)
	case "state":
		return setText(r, riemann.HasState, &r.State, value)
	case "description":
		return setText(r, riemann.HasDescription, &r.Description, value)
	case "metric":
		return setMetric(r, value)
	case "tags":
		return setTags(r, value)
	case "time":
		return setTime(r, value)
	}
	return setTTL(r, value)
}

func setText(r *riemann.Record, bit riemann.Fields, field *string, value any) error {
	text, ok := value.(string)
	if !ok {
		return fmt.Errorf("must be a text, not %s", kindOf(value))
	}
	*field = text
	r.Set |= bit
	return nil
}

// setMetric takes a whole number as an integer, exactly, and any other one as a double.
func setMetric(r *riemann.Record, value any) error {
	number, ok := value.(json.Number)
	if !ok {
		return fmt.Errorf("must be a number, not %s", kindOf(value))
	}
	if !strings.ContainsAny(number.String(), ".eE") {
		if i, err := strconv.ParseInt(number.String(), 10, 64); err == nil {
			r.Sint64 = i
			r.Set |= riemann.HasSint64
			return nil
		}
	}
	f, err := number.Float64()
	if err != nil {
		return fmt.Errorf("%.40s is beyond a 64-bit float", number)
	}
	r.D = f
	r.Set |= riemann.HasD
	return nil
}

func setTTL(r *riemann.Record, value any) error {
	number, ok := value.(json.Number)
	if !ok {
		return fmt.Errorf("must be a number of seconds, not %s", kindOf(value))
	}
	f, err := strconv.ParseFloat(number.String(), 32)
	if err != nil {
		return fmt.Errorf("%.40s is beyond a 32-bit float", number)
	}
	r.TTL = float32(f)
	r.Set |= riemann.HasTTL
	return nil
}

// mostSeconds keeps microseconds within 63 bits.
const mostSeconds = math.MaxInt64 / 1e6

// setTime takes ISO 8601 with a zone, or seconds of the Unix epoch. A whole second is kept
// as one, an integer to queries; any other time, and a number with a point, in microseconds.
func setTime(r *riemann.Record, value any) error {
	switch v := value.(type) {
	case string:
		t, err := time.Parse(time.RFC3339Nano, v)
		if err != nil {
			return fmt.Errorf("%.60q is no time such as 2026-01-31T23:59:59.000Z", v)
		}
		if t.Nanosecond() == 0 {
			setSeconds(r, t.Unix())
			return nil
		}
		setMicros(r, t.UnixMicro())
	case json.Number:
		f, err := v.Float64()
		if err != nil || math.Abs(f) >= mostSeconds {
			return fmt.Errorf("%.40s are too many seconds", v)
		}
		if i, err := v.Int64(); err == nil {
			setSeconds(r, i)
			return nil
		}
		setMicros(r, int64(math.Round(f*1e6)))
	default:
		return fmt.Errorf("must be a time as text, or a number of seconds, not %s", kindOf(value))
	}
	return nil
}

func setSeconds(r *riemann.Record, seconds int64) {
	r.Time = seconds
	r.Set |= riemann.HasTime
}

func setMicros(r *riemann.Record, micros int64) {
	r.TimeMicros = micros
	r.Set |= riemann.HasTimeMicros
}

func setTags(r *riemann.Record, value any) error {
	list, ok := value.([]any)
	if !ok {
		return fmt.Errorf("must be an array of texts, not %s", kindOf(value))
	}
	for _, v := range list {
		tag, ok := v.(string)
		if !ok {
			return fmt.Errorf("must be an array of texts; in it is %s", kindOf(v))
		}
		r.Tags = append(r.Tags, tag)
	}
	return nil
}

// addAttribute takes a text, and a number or truth value as one; null is none.
func addAttribute(r *riemann.Record, key string, value any) error {
	var text string
	switch v := value.(type) {
	case nil:
		return nil
	case string:
		text = v
	case json.Number:
		text = v.String()
	case bool:
		text = strconv.FormatBool(v)
	default:
		return fmt.Errorf("an attribute must be a text, not %s", kindOf(value))
	}
	r.Attributes = append(r.Attributes, riemann.Pair{Key: key, Value: text})
	return nil
}

func kindOf(value any) string {
	switch value.(type) {
	case nil:
		return "null"
	case string:
		return "a text"
	case json.Number:
		return "a number"
	case bool:
		return "a truth value"
	case []any:
		return "an array"
	}
	return "an object"
}
