package graphite

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

const (
	// MostTemplates bounds how many templates a path is tried on.
	MostTemplates = 100
	// MostParts bounds the parts of a filter or a template.
	MostParts = 32
)

const (
	servicePart = "measurement" // the name of the parts that make the service
	rest        = "*"           // behind the last part's name: it takes all that follows
	anything    = "*"           // in a filter
)

// Templates make host and service from paths. They are made once; nil has none.
type Templates struct {
	list []*template // the most specific filter first
}

// template is [FILTER] PARTS: the parts of a path are named by their places.
type template struct {
	filter  []string // part by part; a path may go on
	service []run
	named   []output // in their order, but for the service
	parts   int      // of a path that are named, or skipped by an empty name
	rest    bool     // the last of them takes the rest of the path
}

// run is adjacent parts of a path.
type run struct{ from, to int }

// output is the host or an attribute.
type output struct {
	key []byte
	run
}

// ParseTemplates reads templates in the form known from InfluxDB and telegraf: an
// optional filter, blanks, and the parts with dots between them. All that is wrong is
// in the error.
func ParseTemplates(texts []string) (*Templates, error) {
	t := &Templates{}
	var errs []error
	if len(texts) > MostTemplates {
		errs = append(errs, fmt.Errorf("%d templates are over the limit of %d", len(texts), MostTemplates))
	}
	for _, text := range texts {
		one, err := parseTemplate(text)
		if err != nil {
			errs = append(errs, fmt.Errorf("template %q %w", text, err))
			continue
		}
		t.list = append(t.list, one)
	}
	slices.SortStableFunc(t.list, func(a, b *template) int { return moreSpecific(a.filter, b.filter) })
	return t, errors.Join(errs...)
}

// moreSpecific orders filters: at the first difference a word goes before anything,
// and both before the end.
func moreSpecific(a, b []string) int {
	rank := func(f []string, i int) int {
		switch {
		case i >= len(f):
			return 2
		case f[i] == anything:
			return 1
		}
		return 0
	}
	for i := range max(len(a), len(b)) {
		if d := rank(a, i) - rank(b, i); d != 0 {
			return d
		}
	}
	return 0
}

func parseTemplate(text string) (*template, error) {
	words := strings.Fields(text)
	t := &template{}
	switch len(words) {
	case 1:
	case 2:
		t.filter = strings.Split(words[0], ".")
	default:
		return nil, errors.New("must be [FILTER] PARTS, such as: servers.* .host.measurement*")
	}
	parts := strings.Split(words[len(words)-1], ".")
	if n := max(len(parts), len(t.filter)); n > MostParts {
		return nil, fmt.Errorf("has %d parts, over the limit of %d", n, MostParts)
	}
	return t, errors.Join(checkFilter(t.filter), t.name(parts))
}

func checkFilter(filter []string) error {
	for _, part := range filter {
		if part == "" || strings.Contains(part, anything) && part != anything {
			return fmt.Errorf("has the part %q in its filter: it must be a word, or %s for any", part, anything)
		}
	}
	return nil
}

// name notes which parts have which name.
func (t *template) name(parts []string) error {
	t.parts = len(parts)
	for i, name := range parts {
		if i == len(parts)-1 {
			name, t.rest = strings.CutSuffix(name, rest)
		}
		if strings.ContainsAny(name, "*;=") || t.rest && name == "" {
			return fmt.Errorf("has the part %q: it must be host, measurement, an attribute's name or nothing, and only the last may end in %s", parts[i], rest)
		}
		if err := t.add(name, i); err != nil {
			return err
		}
	}
	if len(t.service) == 0 {
		return fmt.Errorf("has no part %s, which makes the service", servicePart)
	}
	return nil
}

// add gives the part at i a name. Parts of the service may stand anywhere, those of
// another name must be adjacent.
func (t *template) add(name string, i int) error {
	switch name {
	case "":
	case servicePart:
		if last := len(t.service) - 1; last >= 0 && t.service[last].to == i {
			t.service[last].to++
			return nil
		}
		t.service = append(t.service, run{i, i + 1})
	default:
		at := slices.IndexFunc(t.named, func(o output) bool { return string(o.key) == name })
		switch {
		case at < 0:
			t.named = append(t.named, output{[]byte(name), run{i, i + 1}})
		case t.named[at].to == i:
			t.named[at].to++
		default:
			return fmt.Errorf("has the name %q at places that are not adjacent; only %s may be", name, servicePart)
		}
	}
	return nil
}
