package graphite

import (
	"bytes"

	"darboux/handlers/series"
)

// Parse takes up the point of a line, which is text without its end. Any goroutine may
// call it, each with a Point of its own.
func (t *Templates) Parse(p *series.Point, line []byte) series.Problem {
	path, rest := series.Field(line)
	value, rest := series.Field(rest)
	at, rest := series.Field(rest)
	switch more, _ := series.Field(rest); {
	case len(path) == 0:
		return series.NoPoint
	case len(value) == 0 || len(more) > 0:
		return series.Fields
	}
	if why := p.ParseValue(value); why != series.None {
		return why
	}
	if why := p.ParseTime(at); why != series.None {
		return why
	}
	return t.parsePath(p, path)
}

// parsePath takes the series from a path. Tags are as carbon wants them: a key, an
// equals sign, and a value, which may be empty or hold further ones.
func (t *Templates) parsePath(p *series.Point, path []byte) series.Problem {
	name, tags, tagged := bytes.Cut(path, semicolon)
	if len(name) == 0 {
		return series.BadName
	}
	if !t.apply(p, name) {
		p.Name(name)
	}
	for tagged {
		var tag []byte
		tag, tags, tagged = bytes.Cut(tags, semicolon)
		eq := bytes.IndexByte(tag, '=')
		if eq < 1 {
			return series.BadTag
		}
		p.Tag(tag[:eq], tag[eq+1:])
	}
	return series.None
}

var semicolon = []byte{';'}
