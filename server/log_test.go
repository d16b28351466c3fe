package main

import (
	"bytes"
	"strings"
	"testing"
	"time"
)

// Durations and sizes have units for people, and none, always the same, for programs.
func TestLogUnits(t *testing.T) {
	for format, want := range map[string]string{
		"text": `took=1.25s rest=2ms memory=64MiB odd=1001B count=7`,
		"json": `"took":1.25,"rest":0.002,"memory":67108864,"odd":1001,"count":7`,
	} {
		var out bytes.Buffer
		newLogger(&out, "info", format).Info("x", "took", 1250*time.Millisecond, "rest", 2*time.Millisecond,
			"memory", byteSize(64*mib), "odd", byteSize(1001), "count", 7)
		if !strings.Contains(out.String(), want) {
			t.Errorf("%s: %s, want %s in it", format, out.String(), want)
		}
	}
}
