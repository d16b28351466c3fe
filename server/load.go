package main

import (
	"errors"
	"flag"
	"fmt"
)

// load reads all settings: a flag wins over its variable, that over the file, that
// over the default. Everything is checked before it returns, and every error found
// is in the one it returns, each naming setting, value, place and limit. If help
// was asked for the error is flag.ErrHelp.
func load(args, environ []string, m machine) (*Options, []*setting, error) {
	o := &Options{}
	table := settings(o)
	layers, err := readLayers(table, args, environ)
	if errors.Is(err, flag.ErrHelp) {
		return nil, table, flag.ErrHelp
	}
	err = errors.Join(err, choose(table, layers))
	o.resolve(m)
	if err = errors.Join(err, checkRelations(o, table)); err != nil {
		return nil, table, err
	}
	return o, table, nil
}

// readLayers returns what was given, the strongest source first.
func readLayers(table []*setting, args, environ []string) ([]layer, error) {
	flags, flagErr := readFlags(table, args)
	variables, variableErr := readVariables(table, environ)
	layers := []layer{flags, variables}
	path := pick("config", layers, given{}).text
	if path == "" {
		return layers, errors.Join(flagErr, variableErr)
	}
	file, fileErr := readFile(table, path)
	return append(layers, file), errors.Join(flagErr, variableErr, fileErr)
}

// pick returns the strongest layer's text for a setting.
func pick(name string, layers []layer, otherwise given) given {
	for _, l := range layers {
		if g, ok := l[name]; ok {
			return g
		}
	}
	return otherwise
}

// choose parses for every setting the text that counts, and keeps it in the table.
func choose(table []*setting, layers []layer) error {
	var errs []error
	for _, s := range table {
		s.given = pick(s.name, layers, given{s.initial, "default"})
		err := s.parse(s.text)
		if inQuotes(s.text) {
			err = errors.New("stands in quotes, which would be part of it: write it without them")
		}
		if err != nil {
			s.bad = true
			errs = append(errs, fmt.Errorf("%s: %w", s, err))
		}
	}
	return errors.Join(errs...)
}

// inQuotes reports whether a text looks as if somebody took quotes for syntax, which they
// are not in settings files nor in files of variables.
func inQuotes(text string) bool {
	last := len(text) - 1
	return last > 0 && text[0] == text[last] && (text[0] == '"' || text[0] == '\'')
}

// String names a setting as errors do: --loops "0" (flag).
func (s *setting) String() string {
	return fmt.Sprintf("--%s %q (%s)", s.name, s.text, s.origin)
}
