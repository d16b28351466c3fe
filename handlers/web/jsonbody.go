package web

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"darboux/frame"
	"darboux/handlers/riemann"
)

// jsonBody takes the events out of a body. They stand one a line; or in an array, which
// begins where a line might; or an object goes over lines, whose first one is "{" alone.
// So a line that is damaged costs only itself. Behind a mistake in one of the other two
// nobody knows where the next event begins.
type jsonBody struct {
	rest     []byte
	maxEvent frame.Limit
	array    bool // rest is inside one
	begun    bool // of which an event has been taken
}

// blanks may stand anywhere between JSON's parts.
const blanks = " \t\r\n"

// next returns the next event, or why it is none. At the end the error is io.EOF.
func (j *jsonBody) next() (*riemann.Record, error) {
	for {
		j.rest = bytes.TrimLeft(j.rest, blanks)
		switch {
		case len(j.rest) == 0 && j.array:
			return nil, j.broken("the array has no end")
		case len(j.rest) == 0:
			return nil, io.EOF
		case j.array && j.rest[0] == ']':
			j.array, j.rest = false, j.rest[1:]
		case j.array:
			return j.element()
		case j.rest[0] == '[':
			j.array, j.begun, j.rest = true, false, j.rest[1:]
		default:
			return j.line()
		}
	}
}

// broken ends the body at a mistake.
func (j *jsonBody) broken(why string) error {
	if len(j.rest) > 0 {
		why += "; what comes behind it is not read"
	}
	j.rest, j.array = nil, false
	return errors.New(why)
}

// line reads an event that begins a line, and is on it unless it is spread over several.
func (j *jsonBody) line() (*riemann.Record, error) {
	line, rest, _ := bytes.Cut(j.rest, []byte("\n"))
	if line = bytes.TrimRight(line, blanks); string(line) == "{" {
		return j.value()
	}
	j.rest = rest
	if most := j.most(); len(line) > most {
		return nil, tooLarge("line of %d bytes is over the limit of %d bytes (%s)", len(line), most, j.maxEvent.Flag)
	}
	return parseEvent(line)
}

// element reads the next event of an array, with the comma in front of it.
func (j *jsonBody) element() (*riemann.Record, error) {
	if j.begun {
		if j.rest[0] != ',' {
			return nil, j.broken(fmt.Sprintf("between two events of an array stands %q, not a comma", j.rest[:1]))
		}
		j.rest = bytes.TrimLeft(j.rest[1:], blanks)
	}
	j.begun = true
	return j.value()
}

// most is the bytes of JSON that an event may take: what it is decoded into is larger.
func (j *jsonBody) most() int {
	const names = 1 << 10 // of the fields, of which the event itself has none
	return 2*j.maxEvent.Value + names
}

// value reads an event that may go over lines.
func (j *jsonBody) value() (*riemann.Record, error) {
	most := j.most()
	text := j.rest[:min(len(j.rest), most)]
	decoder := json.NewDecoder(bytes.NewReader(text))
	if err := decoder.Decode(new(json.RawMessage)); err != nil { // to find its end
		err = ownWords(err, text)
		if err == errUnended && len(j.rest) > most {
			return nil, &sizeError{j.broken(fmt.Sprintf("event of more than %d bytes is over the limit (%s)", most, j.maxEvent.Flag)).Error()}
		}
		return nil, j.broken(err.Error())
	}
	n := int(decoder.InputOffset())
	j.rest = j.rest[n:]
	return parseEvent(text[:n])
}

// parseEvent reads an event, which is all of text.
func parseEvent(text []byte) (*riemann.Record, error) {
	if tooManyParts(text) {
		return nil, fmt.Errorf("more than %d fields, tags and other values", mostParts)
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	var given map[string]any
	if err := decoder.Decode(&given); err != nil {
		return nil, ownWords(err, text)
	}
	if int(decoder.InputOffset()) != len(text) {
		return nil, errors.New("more than one JSON value stands in the line")
	}
	if given == nil {
		return nil, errors.New("must be a JSON object, not null")
	}
	return recordOf(given)
}

var errUnended = errors.New("no JSON: it ends in the middle of a value")

// ownWords says what package json says about a text, in our words.
func ownWords(err error, text []byte) error {
	var odd *json.UnmarshalTypeError
	var bad *json.SyntaxError
	switch {
	case errors.As(err, &odd):
		return fmt.Errorf("must be a JSON object, not %s", kindOfJSON(text))
	case errors.As(err, &bad):
		return syntaxError(text, int(bad.Offset))
	}
	return errUnended // io.EOF or io.ErrUnexpectedEOF: nothing else can go wrong
}

// syntaxError says what stands where JSON allows no such thing: at is the byte, from 1 on.
func syntaxError(text []byte, at int) error {
	if at < 1 || at > len(text) {
		return errUnended
	}
	return fmt.Errorf("no JSON: %q can't stand at byte %d of it", text[at-1:at], at)
}

// kindOfJSON names the kind of a value, which is no object, by its first byte.
func kindOfJSON(text []byte) string {
	switch text[0] {
	case '[':
		return "an array"
	case '"':
		return "a text"
	case 't', 'f':
		return "a truth value"
	}
	return "a number"
}
