package frame

import "bytes"

// skipping is the State of a Progress in the middle of a line that is too long.
const skipping = 1

// CutLines counts the whole lines at the head of b, so that a burst holds whole lines,
// each with its newline but perhaps the last one of a stream. The limit counts the
// newline. Of a line that is over it before its newline has come, as many bytes as the
// limit are cut, as the last frame of its burst, and the rest is skipped: who works
// lines knows such a line by its length, as he knows one that came whole. So every line
// comes up once, however its bytes arrive, and none is an error of the stream. room is
// the same in all calls for a stream.
func CutLines(b []byte, limit Limit, room int, ended bool, p *Progress) (Cut, error) {
	var c Cut
	if p.State == skipping {
		c.Skip = bytes.IndexByte(b, '\n') + 1
		if c.Skip == 0 {
			c.Skip = len(b)
			return c, nil
		}
		b, *p = b[c.Skip:], Progress{}
	}
	window := b[:min(len(b), max(room, limit.Value))]
	all := len(window) == len(b)
	last := bytes.LastIndexByte(window[p.At:], '\n')
	switch {
	case ended && all:
		c.Bytes = len(b)
	case last >= 0:
		c.Bytes = p.At + last + 1
		c.Behind.At = len(window) - c.Bytes
	case len(window) >= limit.Value:
		c.Bytes, c.Behind.State = limit.Value, skipping
	default:
		p.At = len(b)
	}
	c.Frames = lines(b[:c.Bytes])
	if all && c.Bytes < len(b) && c.Behind.State != skipping {
		c.Need = limit.Value
	}
	return c, nil
}

// lines counts lines, of which the last may lack its newline.
func lines(b []byte) int {
	n := bytes.Count(b, newline)
	if len(b) > 0 && b[len(b)-1] != '\n' {
		n++
	}
	return n
}

var newline = []byte{'\n'}

// NextLine splits the first line off b: the line without its newline, and what follows
// it.
func NextLine(b []byte) (line, rest []byte) {
	end := bytes.IndexByte(b, '\n')
	if end < 0 {
		return b, nil
	}
	return b[:end:end], b[end+1:]
}
