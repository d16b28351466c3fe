package web

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/valyala/fasthttp"

	"darboux/handlers/query"
	"darboux/handlers/querylog"
)

// mostSorted is the largest limit of a sorted reply.
const mostSorted = 10_000

// wish is what is asked of the index.
type wish struct {
	query   *query.Query
	form    *form
	limit   int    // the most events; 0 is no limit
	sort    string // the field by which they are sorted; "" is none
	falling bool   // from the largest on
	fields  fields
	explain bool
}

// readWish reads the parameters of a request. Errors name parameter and value.
func (a *API) readWish(ctx *fasthttp.RequestCtx) (w wish, err error) {
	q := ctx.QueryArgs()
	text := q.Peek("query")
	if len(text) == 0 {
		text = []byte("true")
	}
	if w.query, err = a.compile(text); err != nil {
		return w, err
	}
	name := string(q.Peek("format"))
	if name == "" {
		name = "jsonl"
	}
	if w.form = forms[name]; w.form == nil {
		return w, fmt.Errorf("format %q: must be jsonl, json or protobuf", name)
	}
	if w.limit, err = readLimit(q); err != nil {
		return w, err
	}
	if w.sort = string(q.Peek("sort")); w.sort != "" {
		w.sort, w.falling = strings.CutPrefix(w.sort, "-")
	}
	if names := q.Peek("fields"); len(names) > 0 {
		w.fields = fields{}
		for name := range strings.SplitSeq(string(names), ",") {
			w.fields[strings.TrimSpace(name)] = true
		}
	}
	w.explain = flagged(q, "explain")
	if flagged(q, "subscribe") {
		return w, errors.New("subscribe: a plain request gets what there is, and no more")
	}
	return w, w.check()
}

// compile finds the compiled form of a query, which counts as asked.
func (a *API) compile(text []byte) (*query.Query, error) {
	var tally querylog.Tally
	defer a.QueryLog.Add(&tally)
	tally[querylog.Asked]++
	q, err := a.Queries.Get(text)
	if err != nil {
		tally[querylog.Unparsed]++
	}
	return q, err
}

func readLimit(q *fasthttp.Args) (int, error) {
	text := string(q.Peek("limit"))
	if text == "" {
		return 0, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 {
		return 0, fmt.Errorf("limit %q: must be a whole number from 1", text)
	}
	return n, nil
}

// flagged reports whether a parameter is given and not false.
func flagged(q *fasthttp.Args, name string) bool {
	return q.Has(name) && string(q.Peek(name)) != "false" && string(q.Peek(name)) != "0"
}

func (w *wish) check() error {
	switch {
	case w.sort != "" && w.limit == 0:
		return fmt.Errorf("sort %q: goes with a limit, up to %d", w.sort, mostSorted)
	case w.sort != "" && w.limit > mostSorted:
		return fmt.Errorf("limit %d: must be at most %d with sort", w.limit, mostSorted)
	case w.fields != nil && w.form.name == "protobuf":
		return errors.New("fields: go with format jsonl or json")
	}
	if w.explain {
		w.form = forms["json"]
	}
	return nil
}
