package web

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/valyala/fasthttp"

	"darboux/handlers/query"
)

const (
	// mostParameters bounds what a query string or a form is split into.
	mostParameters = 32
	// mostForm is the most bytes of a form: room for the longest query with each byte
	// escaped, and for the rest.
	mostForm = 4 * query.MaxText
)

// parameters are those of a request, by name.
type parameters map[string]string

// readParameters reads the parameters behind the path and, of a POST, those of the form
// that is its body. Only known ones may be given, and each once. An error that is not
// about their text is a StatusError.
func readParameters(ctx *fasthttp.RequestCtx, known ...string) (parameters, error) {
	p := parameters{}
	if err := p.take(ctx.URI().QueryString(), ctx.QueryArgs, known); err != nil {
		return nil, err
	}
	body := ctx.Request.Body()
	if !ctx.IsPost() || len(body) == 0 {
		return p, nil
	}
	if err := checkForm(ctx, len(body)); err != nil {
		return nil, err
	}
	return p, p.take(body, ctx.PostArgs, known)
}

func checkForm(ctx *fasthttp.RequestCtx, size int) error {
	const form = "application/x-www-form-urlencoded"
	switch {
	case mediaType(ctx) != form:
		return &StatusError{fasthttp.StatusUnsupportedMediaType, "the body must be a form, with Content-Type: " + form}
	case size > mostForm:
		return &StatusError{fasthttp.StatusRequestEntityTooLarge, fmt.Sprintf("form of %d bytes is over the limit of %d bytes", size, mostForm)}
	}
	return nil
}

// mediaType is the type of the body, without what stands behind it.
func mediaType(ctx *fasthttp.RequestCtx) string {
	kind, _, _ := strings.Cut(strings.ToLower(string(ctx.Request.Header.ContentType())), ";")
	return strings.TrimSpace(kind)
}

// take takes the parameters of a text, which parse splits.
func (p parameters) take(text []byte, parse func() *fasthttp.Args, known []string) error {
	if n := 1 + bytes.Count(text, []byte("&")); n > mostParameters {
		return fmt.Errorf("%d parameters are over the limit of %d", n, mostParameters)
	}
	for name, value := range parse().All() {
		if len(known) == 0 {
			return fmt.Errorf("parameter %.60q: this path has none", name)
		}
		if !slices.Contains(known, string(name)) {
			return fmt.Errorf("parameter %.60q: this path has none of this name, but %s", name, strings.Join(known, ", "))
		}
		if _, twice := p[string(name)]; twice {
			return fmt.Errorf("parameter %q: is given more than once", name)
		}
		p[string(name)] = string(value)
	}
	return nil
}

// flag is a parameter that is true or false; true is also the name alone.
func (p parameters) flag(name string) (bool, error) {
	value, given := p[name]
	switch value {
	case "", "true", "1":
		return given, nil
	case "false", "0":
		return false, nil
	}
	return false, fmt.Errorf("%s %.60q: must be true, 1, false or 0", name, value)
}

// failParameters answers a request whose parameters make no sense.
func failParameters(ctx *fasthttp.RequestCtx, err error) {
	status := fasthttp.StatusBadRequest
	if why, ok := err.(*StatusError); ok {
		status = why.Status
	}
	Fail(ctx, status, err.Error())
}
