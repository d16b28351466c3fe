package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"darboux/frame"
	"darboux/loop"
)

// A relation is what must hold between settings that are good each by itself. It is
// only checked when they are.
type relation struct {
	between []string
	check   func(o *Options, named func(name string) *setting) error
}

var relations = []relation{
	{[]string{"memory", "max-frame"}, reserveHoldsFrame},
	{[]string{"memory", "http-max-body", "http-max-head"}, reserveHoldsRequest},
	{[]string{"memory", "loops"}, shareIsWorkable},
	{[]string{"ring-slots", "loops", "handlers"}, everyLoopHasCredit},
	{[]string{"snapshot", "snapshot-salvage"}, salvageHasFile},
	{[]string{"tcp", "udp", "graphite", "opentsdb", "http"}, somethingListens},
	{[]string{"tcp", "udp", "graphite", "opentsdb", "http"}, addressesDiffer},
}

// reserveHoldsFrame: a frame above --conn-memory must fit into the reserve for such.
func reserveHoldsFrame(o *Options, named func(string) *setting) error {
	longest := o.MaxFrame + frame.HeaderLen
	if o.Memory/2 >= longest {
		return nil
	}
	return fmt.Errorf("%s: half of it is the reserve for large frames and must hold one of %s with its header: give at least %s",
		named("memory"), named("max-frame"), sizeText(2*longest))
}

// longestRequest is the most room in bytes that an HTTP request needs, in chunks.
func (o *Options) longestRequest() int64 {
	cutter := frame.HTTP{MaxHead: limit("--http-max-head", o.HTTPMaxHead), MaxBody: limit("--http-max-body", o.HTTPMaxBody)}
	return int64(cutter.MaxFrame() + frame.HeaderLen)
}

// longestFrame is the most room in bytes that a frame of any protocol needs.
func (o *Options) longestFrame() int64 {
	longest := o.MaxFrame + frame.HeaderLen
	if len(o.HTTP) > 0 {
		longest = max(longest, o.longestRequest())
	}
	return longest
}

// reserveHoldsRequest: so must an HTTP request.
func reserveHoldsRequest(o *Options, named func(string) *setting) error {
	longest := o.longestRequest()
	if len(o.HTTP) == 0 || o.Memory/2 >= longest {
		return nil
	}
	return fmt.Errorf("%s: half of it is the reserve for large frames and must hold an HTTP request of %s, in chunks: give at least %s",
		named("memory"), named("http-max-body"), sizeText(2*longest))
}

func shareIsWorkable(o *Options, named func(string) *setting) error {
	least := 2 * int64(o.Loops) * loop.MinLoopMemory
	if o.Memory >= least {
		return nil
	}
	return fmt.Errorf("%s: half of it is split over the loops, %s, here %d, of which each needs %s: give at least %s",
		named("memory"), named("loops"), o.Loops, sizeText(loop.MinLoopMemory), sizeText(least))
}

func everyLoopHasCredit(o *Options, named func(string) *setting) error {
	if o.Handlers == 0 || o.RingSlots >= o.Loops {
		return nil
	}
	return fmt.Errorf("%s: each loop needs a slot, and there are %d by %s", named("ring-slots"), o.Loops, named("loops"))
}

func salvageHasFile(o *Options, named func(string) *setting) error {
	if !o.SnapshotSalvage || o.Snapshot != "" {
		return nil
	}
	return fmt.Errorf("%s: there is nothing to salvage without a file by --snapshot", named("snapshot-salvage"))
}

func somethingListens(o *Options, _ func(string) *setting) error {
	if len(o.listeners()) > 0 {
		return nil
	}
	return errors.New("nothing is served: --tcp, --udp, --graphite, --opentsdb and --http are all empty")
}

// addressesDiffer: an address is served by one protocol, unless its port is 0, any free one.
func addressesDiffer(o *Options, _ func(string) *setting) error {
	served := map[listener]string{} // by network and address: the flag
	for _, l := range o.listeners() {
		key := listener{network: l.network, address: l.address}
		if before, taken := served[key]; taken && !strings.HasSuffix(l.address, ":0") {
			return fmt.Errorf("%s %s: %s %s is served by %s already", l.flag, l.address, l.network, l.address, before)
		}
		served[key] = l.flag
	}
	return nil
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
