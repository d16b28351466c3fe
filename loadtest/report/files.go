package report

import (
	"encoding/json"
	"fmt"
	"io"
	"os"

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

// ReadJSON reads a document that JSON wrote.
func ReadJSON(path string) (*result.Document, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var d result.Document
	if err := json.Unmarshal(b, &d); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if d.Schema != result.Schema {
		return nil, fmt.Errorf("%s: schema %q, want %q", path, d.Schema, result.Schema)
	}
	return &d, nil
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
