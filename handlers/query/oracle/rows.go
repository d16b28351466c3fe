package oracle

import (
	"bytes"
	"compress/gzip"
	_ "embed" // for the data beside this file
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"google.golang.org/protobuf/proto"

	"darboux/handlers/riemann/pb"
)

// Answer is what a query comes to on an event.
type Answer string

// The answers. A server refuses a query that is an error with "parse error: ...".
const (
	True  Answer = "true"
	False Answer = "false"
	Error Answer = "error"
)

// Row is one query on one event.
type Row struct {
	Category string
	Query    string
	Event    *pb.Event // as a client would send it
	// DefaultTTL is the default ttl, in seconds, that the server has given to the
	// event; 0 if the event came to the query without it.
	DefaultTTL int64
	Riemann    Answer // the answer of Riemann
	Want       Answer // the answer that is right here: Riemann's, but in Differences
	// RawOnly tells that Want holds only before a server gives the event its
	// default ttl.
	RawOnly bool
}

//go:embed rows.jsonl.gz
var rowsFile []byte

// Rows returns all rows, those of a query one after the other.
func Rows() ([]Row, error) {
	z, err := gzip.NewReader(bytes.NewReader(rowsFile))
	if err != nil {
		return nil, err
	}
	d := json.NewDecoder(z)
	d.UseNumber()
	var rows []Row
	for {
		row, err := read(d)
		if errors.Is(err, io.EOF) {
			return rows, applyDifferences(rows)
		}
		if err != nil {
			return nil, fmt.Errorf("row %d: %w", len(rows)+1, err)
		}
		rows = append(rows, row)
	}
}

func read(d *json.Decoder) (Row, error) {
	var raw struct {
		Cat, Query string
		Event      map[string]any
		Result     any
	}
	if err := d.Decode(&raw); err != nil {
		return Row{}, err
	}
	row := Row{Category: raw.Cat, Query: raw.Query, Event: &pb.Event{}}
	for name, value := range raw.Event {
		if err := row.set(name, value); err != nil {
			return Row{}, fmt.Errorf("%s: %w", name, err)
		}
	}
	switch result := raw.Result.(type) {
	case bool:
		row.Riemann = map[bool]Answer{true: True, false: False}[result]
	case string: // "parse-error" or "eval-error: the class of an exception"
		row.Riemann = Error
	default:
		return Row{}, fmt.Errorf("result %v", raw.Result)
	}
	row.Want = row.Riemann
	row.RawOnly = row.Event.Ttl == nil && row.DefaultTTL == 0 && strings.Contains(row.Query, "ttl")
	return row, nil
}

// set puts a field of the JSON event into the row.
func (r *Row) set(name string, value any) (err error) {
	e := r.Event
	switch name {
	case "host":
		e.Host = proto.String(value.(string))
	case "service":
		e.Service = proto.String(value.(string))
	case "state":
		e.State = proto.String(value.(string))
	case "description":
		e.Description = proto.String(value.(string))
	case "time":
		e.Time, err = integer(value)
	case "time_micros":
		e.TimeMicros, err = integer(value)
	case "metric_sint64":
		e.MetricSint64, err = integer(value)
	case "metric_d":
		e.MetricD, err = float(value)
	case "metric_f":
		e.MetricF, err = float32Of(value)
	case "ttl":
		e.Ttl, err = float32Of(value)
	case "_ttl_long":
		var ttl *int64
		if ttl, err = integer(value); err == nil {
			r.DefaultTTL = *ttl
		}
	case "tags":
		for _, tag := range value.([]any) {
			e.Tags = append(e.Tags, tag.(string))
		}
	case "attributes":
		for key, text := range value.(map[string]any) {
			e.Attributes = append(e.Attributes, &pb.Attribute{Key: proto.String(key), Value: proto.String(text.(string))})
		}
	default:
		err = errors.New("no such field")
	}
	return err
}

func integer(value any) (*int64, error) {
	n, err := value.(json.Number).Int64()
	return &n, err
}

// float reads a number; what JSON has no number for stands as a string.
func float(value any) (*float64, error) {
	var f float64
	_, err := fmt.Sscan(strings.Replace(fmt.Sprint(value), "Infinity", "Inf", 1), &f)
	return &f, err
}

func float32Of(value any) (*float32, error) {
	f, err := float(value)
	narrow := float32(*f)
	return &narrow, err
}
