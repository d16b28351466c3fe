package opentsdb

import (
	"fmt"
	"strings"
	"testing"

	"darboux/handlers/riemann"
	"darboux/handlers/series"
)

func TestLines(t *testing.T) {
	reply := Reply("darboux 1", 4096, "--max-line")
	for _, tc := range []struct {
		line  string
		want  string // the event or the problem
		reply string // what must be in it; empty: there is none
	}{
		{"put sys.cpu.user 1356998400 42.5 host=web1 cpu=0", "host=web1 sys.cpu.user;cpu=0 42.5 at 1356998400000000 cpu:0", ""},
		{"put a\t1356998400   1 x=1 y=2", "a;x=1;y=2 1 at 1356998400000000 x:1 y:2", ""},
		{"put a 1356998400250 1 host=h", "host=h a 1 at 1356998400250000", ""},
		{"put a 1356998400.25 1 host=h", "host=h a 1 at 1356998400250000", ""},
		{"put a 4294967295 1", "a 1 at 4294967295000000", ""},
		{"put a 4294967296 1", "a 1 at 4294967296000", ""},
		{"version", "no point", "darboux 1\n"},
		{"", "no point", ""},
		{"put", "number of fields", `number of fields: "put"`},
		{"put a 1", "number of fields", "number of fields"},
		{"put a x 1", "time", "time"},
		{"put a 1700000000123456 1 host=h", "time", "time"},
		{"put a 1 x", "value", "value"},
		{"put a 1 nan", "value not finite", "not finite"},
		{"put a;b=c 1 2", "no name", "no name"},
		{"put a 1 2 b", "tag", "tag"},
		{"put a 1 2 =b", "tag", "tag"},
		{"put a 1 2 b;c=d", "tag", "tag"},
		{"stats", "unknown command", `unknown command: "stats"`},
		{"PUT a 1 2", "unknown command", "unknown command"},
		{strings.Repeat("x", 1000), "unknown command", `"` + strings.Repeat("x", 64) + "\"\n"},
	} {
		var p series.Point
		p.Begin()
		why := Parse(&p, []byte(tc.line))
		got := why.String()
		if why == series.None {
			got = describe(t, &p)
		} else if r := string(reply(nil, []byte(tc.line), why)); !strings.Contains(r, tc.reply) || (r == "") != (tc.reply == "") {
			t.Errorf("%q: the reply is %q; want %q", tc.line, r, tc.reply)
		}
		if got != tc.want {
			t.Errorf("%q: got %q; want %q", tc.line, got, tc.want)
		}
	}
}

func describe(t testing.TB, p *series.Point) string {
	t.Helper()
	var e riemann.Event
	if err := e.Parse(p.AppendEvent(nil, 60)); err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	if e.Set&riemann.HasHost != 0 {
		fmt.Fprintf(&b, "host=%s ", e.HostBytes())
	}
	fmt.Fprintf(&b, "%s %v at %d", e.ServiceBytes(), e.D, e.At(0))
	for it := e.Attributes(); it.Next(); {
		fmt.Fprintf(&b, " %s:%s", it.Key, it.Value)
	}
	if e.TTL != 60 {
		t.Errorf("the ttl is %v; want 60", e.TTL)
	}
	return b.String()
}

func FuzzLine(f *testing.F) {
	f.Add("put a 1356998400 1 host=x k=v")
	f.Add("version")
	f.Add("put a;b 1 2")
	f.Fuzz(func(t *testing.T, line string) {
		var p series.Point
		p.Begin()
		if Parse(&p, []byte(line)) == series.None {
			describe(t, &p)
		}
	})
}
