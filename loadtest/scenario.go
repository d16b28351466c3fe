package main

import (
	"flag"
	"strings"
)

// scenario is a preset: values of flags that hold unless others are given.
type scenario struct {
	name, help string
	flags      [][2]string
}

// entries are an index large enough that a reply with all of it is some
// megabytes.
var entries = [][2]string{{"hosts", "100"}, {"services", "100"}, {"fill", "true"}}

var scenarios = []scenario{
	{"ingest", "events only", nil},
	{"query", "queries of one host's entries", with(entries,
		[2]string{"query-share", "1"}, [2]string{"query", `host = "{host}"`}, [2]string{"pipeline", "8"})},
	{"mixed", "a tenth queries of one entry, the rest events", with(entries,
		[2]string{"query-share", "0.1"}, [2]string{"query", `host = "{host}" and service = "{service}"`})},
	{"big-reply", "queries that answer with the whole index", with(entries,
		[2]string{"query-share", "1"}, [2]string{"query", "true"}, [2]string{"connections", "2"}, [2]string{"pipeline", "2"})},
	{"slow-reader", "events, beside clients that ask for everything and read slowly", with(entries,
		[2]string{"side", "slow-reader"}, [2]string{"side-connections", "4"}, [2]string{"pipeline", "8"})},
	{"flood", "events, beside clients that send as fast as they can and never read", with(entries,
		[2]string{"side", "flood"}, [2]string{"side-connections", "2"}, [2]string{"pipeline", "8"})},
	{"churn", "connections that are closed after ten requests", [][2]string{
		{"requests-per-connection", "10"}, {"pipeline", "5"}}},
	{"half-close", "connections that shut down their sending side and then read", [][2]string{
		{"requests-per-connection", "64"}, {"half-close", "true"}}},
	{"one-slow-query", "events, beside one client that asks for everything again and again", with(entries,
		[2]string{"side", "slow-query"}, [2]string{"side-connections", "1"}, [2]string{"pipeline", "8"})},
	{"drain", "events, and in the middle the server is told to stop", [][2]string{{"stop", "true"}}},
}

func with(flags [][2]string, more ...[2]string) [][2]string {
	return append(flags[:len(flags):len(flags)], more...)
}

func scenarioNames() []string {
	var names []string
	for _, s := range scenarios {
		names = append(names, s.name)
	}
	return names
}

// applyScenario sets the flags of o's scenario that are not given.
func (o *options) applyScenario(fs *flag.FlagSet) error {
	for _, s := range scenarios {
		if s.name != o.scenario {
			continue
		}
		for _, f := range s.flags {
			if o.given[f[0]] {
				continue
			}
			if err := fs.Set(f[0], f[1]); err != nil {
				panic("BUG: scenario " + s.name + " sets --" + f[0] + ": " + err.Error())
			}
		}
		return nil
	}
	return usagef("--scenario %q: must be one of %s", o.scenario, strings.Join(scenarioNames(), ", "))
}
