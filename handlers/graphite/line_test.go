package graphite

import (
	"fmt"
	"strings"
	"testing"

	"darboux/handlers/riemann"
	"darboux/handlers/series"
)

// describe reads a line and writes down the event that it becomes, or the problem.
func describe(t testing.TB, templates *Templates, p *series.Point, line string) string {
	t.Helper()
	p.Begin()
	if why := templates.Parse(p, []byte(line)); why != series.None {
		return why.String()
	}
	var e riemann.Event
	if err := e.Parse(p.AppendEvent(nil, 0)); err != nil {
		t.Fatalf("%q becomes an event that is none: %v", line, err)
	}
	var b strings.Builder
	if e.Set&riemann.HasHost != 0 {
		fmt.Fprintf(&b, "host=%s ", e.HostBytes())
	}
	fmt.Fprintf(&b, "%s %v", e.ServiceBytes(), e.D)
	switch {
	case e.Set&riemann.HasTime != 0:
		fmt.Fprintf(&b, " at %ds", e.Time)
	case e.Set&riemann.HasTimeMicros != 0:
		fmt.Fprintf(&b, " at %dus", e.TimeMicros)
	}
	for it := e.Attributes(); it.Next(); {
		fmt.Fprintf(&b, " %s:%s", it.Key, it.Value)
	}
	return b.String()
}

func TestLines(t *testing.T) {
	for _, tc := range []struct{ line, want string }{
		{"a.b.c 1 1700000000", "a.b.c 1 at 1700000000s"},
		{"a.b.c\t1.5 \t 1700000000", "a.b.c 1.5 at 1700000000s"},
		{"  a 1 2", "a 1 at 2s"},
		{"a -1e3 1700000000.25", "a -1000 at 1700000000250000us"},
		{"a +.5 1700000000.0", "a 0.5 at 1700000000s"},
		{"a 1 1.7e9", "a 1 at 1700000000s"},
		{"a 1 0", "a 1 at 0s"},
		{"a 1 -2", "a 1 at -2s"},
		{"a 1 -1", "a 1"},
		{"a 1 -1.0", "a 1"},
		{"a 1 4294967295", "a 1 at 4294967295s"},
		{"a 1 1700000000123", "a 1 at 1700000000123000us"},
		{"a 1 1700000000000", "a 1 at 1700000000s"},
		{"a 1 N", "a 1"},
		{"a 1", "a 1"},
		{"a 12345678901234567890 1", "a 1.2345678901234567e+19 at 1s"},
		{"a 0.10000000000000000000000000000000000000000000001 1", "a 0.1 at 1s"},
		{"a 1e-400 1", "a 0 at 1s"},
		{"ä.→ 1 1", "ä.→ 1 at 1s"},
		{"a..b. 1 1", "a..b. 1 at 1s"},

		{"", "no point"},
		{" \t", "no point"},
		{"a", "number of fields"},
		{"a ", "number of fields"},
		{"a 1 2 3", "number of fields"},
		{"a nan 1", "value not finite"},
		{"a NaN", "value not finite"},
		{"a -nan 1", "value not finite"},
		{"a inf 1", "value not finite"},
		{"a -Inf 1", "value not finite"},
		{"a +Infinity 1", "value not finite"},
		{"a 1e400 1", "value not finite"},
		{"a -1e400 1", "value not finite"},
		{"a x 1", "value"},
		{"a 0x10 1", "value"},
		{"a 1_000 1", "value"},
		{"a 1,5 1", "value"},
		{"a - 1", "value"},
		{"a infinite 1", "value"},
		{"a 1 x", "time"},
		{"a 1 nan", "time"},
		{"a 1 inf", "time"},
		{"a 1 1700000000123456", "time"},
		{"a 1 1700000000123456789", "time"},
		{"a 1 4294967296000", "time"},
		{"a 1 -4294967296", "time"},
		{"a 1 1e30", "time"},
		{"a 1 1e400", "time"},

		{"m;k=v 1 2", "m;k=v 1 at 2s k:v"},
		{"m;host=web1;plugin=cpu 1 2", "host=web1 m;plugin=cpu 1 at 2s plugin:cpu"},
		{"m;b=2;host=web1;a=1 1 2", "host=web1 m;b=2;a=1 1 at 2s b:2 a:1"},
		{"m;host=a;host=b 1 2", "host=b m 1 at 2s"},
		{"m;host= 1 2", "host= m 1 at 2s"},
		{"m;k= 1 2", "m;k= 1 at 2s k:"},
		{"m;k=a=b 1 2", "m;k=a=b 1 at 2s k:a=b"},
		{"m;k=1;k=2 1 2", "m;k=1;k=2 1 at 2s k:1 k:2"},
		{"m;Host=x 1 2", "m;Host=x 1 at 2s Host:x"},
		{"m;service=x;state=expired 1 2", "m;service=x;state=expired 1 at 2s service:x state:expired"},
		{"m; 1 2", "tag"},
		{"m;=x 1 2", "tag"},
		{"m;a 1 2", "tag"},
		{"m;a=1; 1 2", "tag"},
		{"m;;a=1 1 2", "tag"},
		{";a=1 1 2", "no name"},
		{"; 1 2", "no name"},
	} {
		var p series.Point
		if got := describe(t, nil, &p, tc.line); got != tc.want {
			t.Errorf("%q: got %q; want %q", tc.line, got, tc.want)
		}
	}
}

// Nothing of a line is left over for the next one.
func TestAPointForgets(t *testing.T) {
	templates, err := ParseTemplates([]string{"servers.* .host.measurement*"})
	if err != nil {
		t.Fatal(err)
	}
	lines := []string{"m;host=h;k=v 1 2", "a 1", "servers.web1.cpu 3 4.5", "b 2 N", "m;a", "m;b=", "x nan", "y 1 2"}
	var used series.Point
	for range 3 {
		for _, line := range lines {
			var fresh series.Point
			want := describe(t, templates, &fresh, line)
			if got := describe(t, templates, &used, line); got != want {
				t.Errorf("%q: got %q; with a fresh point %q", line, got, want)
			}
		}
	}
}

func FuzzLine(f *testing.F) {
	for _, line := range []string{"a.b.c 1 2", "m;host=x;k=v -1.5e3 1700000000.25", "m; 1", "servers.web1.cpu 1 N", ";\t;", "a nan 1"} {
		f.Add(line)
	}
	templates, err := ParseTemplates([]string{"servers.* .host.measurement*", "a.b host.measurement", "x.* region.measurement.region2.measurement"})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, line string) {
		var p series.Point
		got := describe(t, templates, &p, line)
		if again := describe(t, templates, &p, line); again != got {
			t.Errorf("%q is %q at first, then %q", line, got, again)
		}
	})
}

func TestParseAllocatesNothing(t *testing.T) {
	templates, err := ParseTemplates([]string{"servers.* .host.measurement*"})
	if err != nil {
		t.Fatal(err)
	}
	var p series.Point
	var dst []byte
	for _, line := range []string{"servers.web1.cpu.idle 8.73583984375 1796036977", "m;host=web1;plugin=cpu 12 1796036977.5", "a.b.c 1"} {
		b := []byte(line)
		if n := testing.AllocsPerRun(100, func() {
			p.Begin()
			if why := templates.Parse(&p, b); why != series.None {
				t.Error(why)
			}
			dst = p.AppendEvent(dst[:0], 180)
		}); n != 0 {
			t.Errorf("%q: %v allocations", line, n)
		}
	}
}

func BenchmarkParse(b *testing.B) {
	templates, err := ParseTemplates([]string{"servers.* .host.measurement*", "stats.* .host.measurement*", "measurement*"})
	if err != nil {
		b.Fatal(err)
	}
	for _, bench := range []struct {
		name, line string
		templates  *Templates
	}{
		{"plain", "servers.web1.cpu.idle 8.73583984375 1796036977", nil},
		{"template", "servers.web1.cpu.idle 8.73583984375 1796036977", templates},
		{"tags", "cpu.idle;host=web1;plugin=cpu;cpu=0 8.73583984375 1796036977", nil},
	} {
		b.Run(bench.name, func(b *testing.B) {
			b.ReportAllocs()
			line := []byte(bench.line)
			var p series.Point
			var dst []byte
			for b.Loop() {
				p.Begin()
				bench.templates.Parse(&p, line)
				dst = p.AppendEvent(dst[:0], 180)
			}
		})
	}
}
