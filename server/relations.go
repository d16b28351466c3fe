package main

import (
	"errors"
	"fmt"
	"slices"
)

// A relation is what must hold between settings that are good each by itself. It is
// only checked when they are.
type relation struct {
	between []string
	check   func(o *Options, named func(name string) *setting) error
}

var relations = []relation{
	{[]string{"memory", "max-frame"}, reserveHoldsFrame},
	{[]string{"memory", "conn-memory", "loops"}, shareHoldsConn},
}

func reserveHoldsFrame(o *Options, named func(string) *setting) error {
	if o.Memory/2 >= o.MaxFrame {
		return nil
	}
	return fmt.Errorf("%s: half of it is the reserve for large frames and must hold one of %s: give at least %s",
		named("memory"), named("max-frame"), sizeText(2*o.MaxFrame))
}

func shareHoldsConn(o *Options, named func(string) *setting) error {
	loops := int64(o.Loops)
	if o.Memory/2/loops >= o.ConnMemory {
		return nil
	}
	return fmt.Errorf("%s: half of it, split over %d loops, must hold one connection's %s: give at least %s",
		named("memory"), loops, named("conn-memory"), sizeText(2*loops*o.ConnMemory))
}

func checkRelations(o *Options, table []*setting) error {
	named := func(name string) *setting { return settingNamed(table, name) }
	isBad := func(name string) bool { return named(name).bad }
	var errs []error
	for _, r := range relations {
		if !slices.ContainsFunc(r.between, isBad) {
			errs = append(errs, r.check(o, named))
		}
	}
	return errors.Join(errs...)
}

// settingNamed returns the table's entry of that name, which must exist.
func settingNamed(table []*setting, name string) *setting {
	i := slices.IndexFunc(table, func(s *setting) bool { return s.name == name })
	if i < 0 {
		panic("BUG: no setting is named " + name)
	}
	return table[i]
}
