package web

import (
	"cmp"
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
	p, err := readParameters(ctx, "query", "format", "limit", "sort", "fields", "explain")
	if err != nil {
		return w, err
	}
	if w.query, err = a.compile(cmp.Or(p["query"], "true")); err != nil {
		return w, err
	}
	name := cmp.Or(p["format"], "jsonl")
	if w.form = forms[name]; w.form == nil {
		return w, fmt.Errorf("format %.60q: must be jsonl, json or protobuf", name)
	}
	if w.limit, err = readLimit(p["limit"]); err != nil {
		return w, err
	}
	if w.sort = p["sort"]; w.sort != "" {
		w.sort, w.falling = strings.CutPrefix(w.sort, "-")
	}
	if names := p["fields"]; names != "" {
		w.fields = fields{}
		for name := range strings.SplitSeq(names, ",") {
			if name = strings.TrimSpace(name); name == "" {
				return w, fmt.Errorf("fields %.60q: a name is empty", names)
			}
			w.fields[name] = true
		}
	}
	if w.explain, err = p.flag("explain"); err != nil {
		return w, err
	}
	return w, w.check()
}

// compile finds the compiled form of a query, which counts as asked.
func (a *API) compile(text string) (*query.Query, error) {
	var tally querylog.Tally
	defer a.QueryLog.Add(&tally)
	tally[querylog.Asked]++
	q, err := a.Queries.Get([]byte(text))
	if err != nil {
		tally[querylog.Unparsed]++
	}
	return q, err
}

func readLimit(text string) (int, error) {
	if text == "" {
		return 0, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 {
		return 0, fmt.Errorf("limit %.60q: must be a whole number from 1", text)
	}
	return n, nil
}

func (w *wish) check() error {
	switch {
	case w.falling && w.sort == "":
		return errors.New(`sort "-": names no field`)
	case w.sort == "tags":
		return errors.New(`sort "tags": tags have no order`)
	case w.sort != "" && w.limit == 0:
		return fmt.Errorf("sort %.60q: goes with a limit, up to %d", w.sort, mostSorted)
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
