package main

import (
	"bufio"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"
)

// variablePrefix begins the name of every variable that sets something here.
const variablePrefix = "DARBOUX_"

// variable returns the environment variable of a setting: DARBOUX_MAX_FRAME.
func (s *setting) variable() string {
	return variablePrefix + strings.ToUpper(strings.ReplaceAll(s.name, "-", "_"))
}

// given is a text for a setting and the place where it stood: "flag", a variable's
// name, file:line, or "default".
type given struct {
	text, origin string
}

// layer is what one source gave, by the settings' names.
type layer map[string]given

// recorder notes a flag's texts unchecked: flag ends at the first bad value, but
// all of them are to be reported together.
type recorder struct {
	*setting
	into layer
	errs *[]error
}

func (r recorder) String() string   { return "" }
func (r recorder) IsBoolFlag() bool { return r.value == "" }

// Set joins the texts of a list that is given several times by commas, as lists are
// written elsewhere.
func (r recorder) Set(text string) error {
	before, again := r.into[r.name]
	switch {
	case again && r.list:
		text = before.text + "," + text
	case again:
		*r.errs = append(*r.errs, fmt.Errorf("--%s is given twice, as %q and as %q: it has one value", r.name, before.text, text))
		return nil
	}
	r.into[r.name] = given{text, "flag"}
	return nil
}

// readFlags goes on after an error, so that all of them are found.
// It returns flag.ErrHelp alone if help was asked for.
func readFlags(table []*setting, args []string) (layer, error) {
	found := layer{}
	set := flag.NewFlagSet("darboux", flag.ContinueOnError)
	set.SetOutput(io.Discard)
	set.Usage = func() {}
	var errs []error
	for _, s := range table {
		set.Var(recorder{s, found, &errs}, s.name, s.help)
	}
	for len(args) > 0 {
		err := set.Parse(args)
		args = set.Args()
		switch {
		case errors.Is(err, flag.ErrHelp):
			return nil, flag.ErrHelp
		case err != nil:
			errs = append(errs, flagError(err))
			if len(args) > 0 && err.Error() == "bad flag syntax: "+args[0] {
				args = args[1:] // package flag leaves it standing
			}
		case len(args) > 0:
			errs = append(errs, fmt.Errorf("unexpected argument %q: every setting is a flag; see --help", args[0]))
			args = args[1:]
		}
	}
	return found, errors.Join(errs...)
}

// flagError puts package flag's errors into our spelling of flags.
func flagError(err error) error {
	if name, ok := strings.CutPrefix(err.Error(), "flag provided but not defined: -"); ok {
		return fmt.Errorf("there is no flag --%s; see --help", name)
	}
	if name, ok := strings.CutPrefix(err.Error(), "flag needs an argument: -"); ok {
		return fmt.Errorf("--%s needs a value; see --help", name)
	}
	return fmt.Errorf("%w; see --help", err)
}

// readVariables takes the DARBOUX_ variables out of environ (as os.Environ gives it). It
// passes over those by which Kubernetes tells of services.
func readVariables(table []*setting, environ []string) (layer, error) {
	names := map[string]*setting{}
	for _, s := range table {
		names[s.variable()] = s
	}
	found := layer{}
	var errs []error
	for _, line := range environ {
		name, text, _ := strings.Cut(line, "=")
		if !strings.HasPrefix(name, variablePrefix) {
			continue
		}
		s := names[name]
		switch {
		case s != nil && s.from == flagOnly:
			errs = append(errs, fmt.Errorf("variable %s=%q sets nothing: --%s is a flag only; see --help", name, text, s.name))
		case s != nil:
			found[s.name] = given{text, name}
		case !tellsOfService(name, text):
			errs = append(errs, fmt.Errorf("variable %s=%q sets nothing: there is no such setting; see --help", name, text))
		}
	}
	return found, errors.Join(errs...)
}

// readFile reads lines of key = value. A # at the start of a line or after a
// blank begins a comment.
func readFile(table []*setting, path string) (layer, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("--config %q: %w", path, err)
	}
	defer file.Close() // only read: nothing can be lost
	return readLines(table, path, file)
}

func readLines(table []*setting, path string, r io.Reader) (layer, error) {
	names := map[string]bool{}
	for _, s := range table {
		names[s.name] = s.from == anywhere
	}
	found := layer{}
	var errs []error
	lines := bufio.NewScanner(r)
	for n := 1; lines.Scan(); n++ {
		origin := fmt.Sprintf("%s:%d", path, n)
		line := withoutComment(lines.Text())
		if line == "" {
			continue
		}
		key, text, ok := strings.Cut(line, "=")
		key, text = strings.TrimSpace(key), strings.TrimSpace(text)
		before, twice := found[key]
		switch {
		case !ok:
			errs = append(errs, fmt.Errorf("%s: %q is not of the form key = value", origin, line))
		case !names[key]:
			errs = append(errs, fmt.Errorf("%s: key %q (value %q) sets nothing in a file; see --help", origin, key, text))
		case twice:
			errs = append(errs, fmt.Errorf("%s: key %q (value %q) stands at %s already", origin, key, text, before.origin))
		default:
			found[key] = given{text, origin}
		}
	}
	if err := lines.Err(); err != nil {
		errs = append(errs, fmt.Errorf("--config %q: %w", path, err))
	}
	return found, errors.Join(errs...)
}

func withoutComment(line string) string {
	for i := range len(line) {
		if line[i] == '#' && (i == 0 || line[i-1] == ' ' || line[i-1] == '\t') {
			line = line[:i]
			break
		}
	}
	return strings.TrimSpace(line)
}
