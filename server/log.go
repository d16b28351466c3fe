package main

import (
	"io"
	"log/slog"
)

// A byteSize is a number of bytes in a log line: 64MiB in text, the number in JSON.
type byteSize int64

func (n byteSize) String() string { return sizeText(int64(n)) }

// inSeconds makes a duration a number of seconds.
func inSeconds(_ []string, a slog.Attr) slog.Attr {
	if a.Value.Kind() == slog.KindDuration {
		a.Value = slog.Float64Value(a.Value.Duration().Seconds())
	}
	return a
}

// newLogger returns the daemon's log. level and format are checked settings. Text is for
// people, so durations and sizes have units; in JSON they are numbers, of seconds and bytes.
func newLogger(w io.Writer, level, format string) *slog.Logger {
	var least slog.Level
	if err := least.UnmarshalText([]byte(level)); err != nil {
		panic("BUG: unchecked log level: " + err.Error())
	}
	options := &slog.HandlerOptions{Level: least}
	if format == "json" {
		options.ReplaceAttr = inSeconds
		return slog.New(slog.NewJSONHandler(w, options))
	}
	return slog.New(slog.NewTextHandler(w, options))
}
