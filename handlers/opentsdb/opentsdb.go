// Package opentsdb reads the lines that OpenTSDB takes: put name time value key=value...,
// and version, by which collectors see whether anybody is there. A put becomes a
// series.Point, and has no reply unless something is wrong with it.
package opentsdb

import (
	"bytes"
	"fmt"

	"darboux/handlers/series"
)

// Parse takes up the point of a line, which is text without its end. Any goroutine may
// call it, each with a Point of its own.
func Parse(p *series.Point, line []byte) series.Problem {
	command, rest := series.Field(line)
	switch string(command) {
	case "put":
		return parsePut(p, rest)
	case "", "version":
		return series.NoPoint
	}
	return series.Unknown
}

func parsePut(p *series.Point, line []byte) series.Problem {
	name, rest := series.Field(line)
	at, rest := series.Field(rest)
	value, rest := series.Field(rest)
	switch {
	case len(value) == 0:
		return series.Fields
	case bytes.IndexByte(name, ';') >= 0: // it would look like a tag in the service
		return series.BadName
	}
	if why := p.ParseTime(at); why != series.None {
		return why
	}
	if why := p.ParseValue(value); why != series.None {
		return why
	}
	p.Name(name)
	return parseTags(p, rest)
}

func parseTags(p *series.Point, line []byte) series.Problem {
	for {
		tag, rest := series.Field(line)
		if len(tag) == 0 {
			return series.None
		}
		eq := bytes.IndexByte(tag, '=')
		if eq < 1 || bytes.IndexByte(tag, ';') >= 0 {
			return series.BadTag
		}
		p.Tag(tag[:eq], tag[eq+1:])
		line = rest
	}
}

// mostQuoted is the most bytes of a bad line that are sent back.
const mostQuoted = 64

// Reply makes what appends the reply to a line that brought no point: the version, or
// what is wrong. maxLine is the most bytes of a line with its newline, by the flag so named.
func Reply(version string, maxLine int, flag string) func(dst, line []byte, why series.Problem) []byte {
	return func(dst, line []byte, why series.Problem) []byte {
		switch {
		case why == series.NoPoint && len(line) == 0:
			return dst
		case why == series.NoPoint:
			return append(append(dst, version...), '\n')
		}
		dst = fmt.Appendf(dst, "%v: ", why)
		if why == series.TooLong {
			dst = fmt.Appendf(dst, "with its newline over the limit of %d bytes (%s): ", maxLine, flag)
		}
		return fmt.Appendf(dst, "%q\n", line[:min(len(line), mostQuoted)])
	}
}
