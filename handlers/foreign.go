package handlers

import (
	"bytes"
	"errors"

	"darboux/frame"
)

// foreignHeads are the first bytes of protocols whose clients knock at a Riemann
// port by mistake: as a length they are always over the limit.
var foreignHeads = []struct{ head, name string }{
	{"GET ", "an HTTP request"},
	{"POST", "an HTTP request"},
	{"PUT ", "an HTTP request"},
	{"HEAD", "an HTTP request"},
	{"SSH-", "an SSH client"},
	{"\x16\x03", "a TLS client"},
}

// foreign names what the bytes of a refused frame look like, for the log.
func foreign(err error) string {
	var long *frame.TooLongError
	if !errors.As(err, &long) {
		return ""
	}
	for _, f := range foreignHeads {
		if bytes.HasPrefix(long.Head, []byte(f.head)) {
			return f.name
		}
	}
	return ""
}
