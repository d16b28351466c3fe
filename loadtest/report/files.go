package report

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"darboux/loadtest/measure"
	"darboux/loadtest/result"
)

// JSON writes a document, indented.
func JSON(w io.Writer, d *result.Document) error {
	e := json.NewEncoder(w)
	e.SetIndent("", " ")
	return e.Encode(d)
}

// JSONLines writes a JSON list of documents, at least one, each on a line of its own.
func JSONLines(w io.Writer, runs []*result.Document) error {
	before := "[\n"
	for _, d := range runs {
		b, err := json.Marshal(d)
		if err != nil {
			return err
		}
		if _, err := fmt.Fprintf(w, "%s%s", before, b); err != nil {
			return err
		}
		before = ",\n"
	}
	_, err := io.WriteString(w, "\n]\n")
	return err
}

// ReadJSON reads the documents of a file that JSON or JSONLines wrote. Those without a
// label get the file's name as one.
func ReadJSON(path string) ([]*result.Document, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	list := []json.RawMessage{b}
	if trimmed := bytes.TrimSpace(b); len(trimmed) > 0 && trimmed[0] == '[' {
		list = nil
		if err := json.Unmarshal(b, &list); err != nil {
			return nil, noResult(path, b, err)
		}
		if len(list) == 0 {
			return nil, fmt.Errorf("%s is no result of --json: its list is empty", path)
		}
	}
	var runs []*result.Document
	for i, one := range list {
		d, err := readDocument(path, one)
		if err != nil {
			return nil, err
		}
		if d.Label == "" {
			d.Label = path
			if len(list) > 1 {
				d.Label += fmt.Sprint(" ", i+1)
			}
		}
		runs = append(runs, d)
	}
	return runs, nil
}

func readDocument(path string, b []byte) (*result.Document, error) {
	var form struct {
		Schema string `json:"schema"`
	}
	if err := json.Unmarshal(b, &form); err != nil {
		return nil, noResult(path, b, err)
	}
	switch form.Schema {
	case result.Schema:
	case "":
		return nil, fmt.Errorf("%s is no result of --json: it has no schema", path)
	default:
		return nil, fmt.Errorf("%s is a result of the form %q; only %q can be shown", path, form.Schema, result.Schema)
	}
	var d result.Document
	if err := json.Unmarshal(b, &d); err != nil {
		return nil, noResult(path, b, err)
	}
	return &d, nil
}

// noResult puts package encoding/json's errors into words for who gave the file.
func noResult(path string, b []byte, err error) error {
	why := err.Error()
	var form *json.SyntaxError
	var kind *json.UnmarshalTypeError
	var at *time.ParseError
	switch {
	case len(bytes.TrimSpace(b)) == 0:
		why = "it is empty"
	case errors.As(err, &form) && form.Offset >= int64(len(b)):
		why = fmt.Sprintf("it ends at byte %d, in the middle", len(b))
	case errors.As(err, &form):
		why = fmt.Sprintf("it is not JSON at byte %d", form.Offset)
	case errors.As(err, &kind) && kind.Field == "":
		why = fmt.Sprintf("a %s stands in place of a result", kind.Value)
	case errors.As(err, &at):
		why = fmt.Sprintf("%q is no time", at.Value)
	case errors.As(err, &kind):
		why = fmt.Sprintf("%s is a %s", kind.Field, kind.Value)
	}
	return fmt.Errorf("%s is no result of --json: %s", path, why)
}

// HDR writes a histogram in HdrHistogram's text form, in milliseconds.
func HDR(w io.Writer, h *measure.Histogram) error {
	_, err := h.HDR().PercentilesPrint(w, 5, 1e6)
	return err
}

// WriteFile creates path and lets write fill it; "-" is standard output.
func WriteFile(path string, write func(io.Writer) error) error {
	if path == "-" {
		return write(os.Stdout)
	}
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	if err := write(f); err != nil {
		f.Close() // the first error is the one to tell
		return fmt.Errorf("%s: %w", path, err)
	}
	return f.Close()
}
