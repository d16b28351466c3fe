package graphite

import (
	"strings"
	"testing"

	"darboux/handlers/series"
)

func TestTemplates(t *testing.T) {
	for _, tc := range []struct {
		templates  string // separated by commas
		path, want string
	}{
		{"measurement*", "a.b.c", "a.b.c"},
		{"host.measurement*", "web1.cpu.idle", "host=web1 cpu.idle"},
		{".host.measurement*", "servers.web1.cpu.idle", "host=web1 cpu.idle"},
		{"..host.measurement", "a.b.web1.cpu", "host=web1 cpu"},
		{"host.measurement", "web1.cpu", "host=web1 cpu"},
		{"host.measurement.measurement", "web1.cpu.idle", "host=web1 cpu.idle"},
		{"measurement.host.measurement*", "cpu.web1.idle.user", "host=web1 cpu.idle.user"},
		{"host.host.measurement", "web1.example.cpu", "host=web1.example cpu"},
		{"region.host.measurement*", "eu.web1.cpu", "host=web1 cpu;region=eu region:eu"},
		{"region.region.measurement", "us.west.cpu", "cpu;region=us.west region:us.west"},
		{"host.measurement.field", "web1.cpu.idle", "host=web1 cpu;field=idle field:idle"},
		{"host.measurement.cpu.field*", "web1.cpu.0.idle.x", "host=web1 cpu;cpu=0;field=idle.x cpu:0 field:idle.x"},
		{"host.measurement.cpu", "web1.load", "host=web1 load"},
		{"measurement.host*", "cpu.web1.example.org", "host=web1.example.org cpu"},

		// Not every part of the path would have a name, or the service would have none.
		{"host.measurement", "web1.cpu.idle", "web1.cpu.idle"},
		{"host.measurement*", "web1", "web1"},
		{"host.measurement*", "web1.", "web1."},
		{"host.measurement", strings.Repeat("a.", 40) + "b", strings.Repeat("a.", 40) + "b"},
		{"host.measurement*", strings.Repeat("a.", 40) + "b", "host=a " + strings.Repeat("a.", 39) + "b"},

		{"servers.* .host.measurement*", "servers.web1.cpu", "host=web1 cpu"},
		{"servers.* .host.measurement*", "servers", "servers"},
		{"servers.* .host.measurement*", "others.web1.cpu", "others.web1.cpu"},
		{"*.cpu host.measurement*", "web1.cpu.idle", "host=web1 cpu.idle"},
		{"*.cpu host.measurement*", "web1.mem.free", "web1.mem.free"},

		// The most specific filter counts, wherever it stands; a template that does not
		// fit leaves the path to the next.
		{"measurement*,servers.* .host.measurement*", "servers.web1.cpu", "host=web1 cpu"},
		{"*.web1 a.host.measurement*,servers.* .host.measurement*", "servers.web1.cpu", "host=web1 cpu"},
		{"servers.* .host.measurement*,servers.*.cpu .host.measurement.x", "servers.web1.cpu.0", "host=web1 cpu;x=0 x:0"},
		{"servers.*.cpu .host.measurement.x,servers.* .host.measurement*", "servers.web1.cpu.0.1", "host=web1 cpu.0.1"},
		{"servers host.measurement,measurement*", "servers.web1.cpu", "servers.web1.cpu"},

		// The path's own tags come behind, and its host counts.
		{"region.measurement*", "eu.cpu;k=v", "cpu;region=eu;k=v region:eu k:v"},
		{"host.measurement*", "web1.cpu;host=web2", "host=web2 cpu"},
		{"host.measurement*", "web1.cpu;host", "tag"},
	} {
		templates, err := ParseTemplates(strings.Split(tc.templates, ","))
		if err != nil {
			t.Errorf("%q: %v", tc.templates, err)
			continue
		}
		want := tc.want
		if want != "tag" {
			service, attributes, _ := strings.Cut(strings.TrimPrefix(want, "host="), " ")
			if strings.HasPrefix(want, "host=") {
				host := service
				service, attributes, _ = strings.Cut(attributes, " ")
				service = "host=" + host + " " + service
			}
			want = strings.TrimSpace(service + " 1 " + attributes)
		}
		var p series.Point
		if got := describe(t, templates, &p, tc.path+" 1"); got != want {
			t.Errorf("%q by %q: got %q; want %q", tc.path, tc.templates, got, want)
		}
	}
}

func TestBadTemplatesAreRefused(t *testing.T) {
	for text, want := range map[string]string{
		"":                             "must be [FILTER] PARTS",
		"a b c":                        "must be [FILTER] PARTS",
		"host":                         "has no part measurement",
		"servers.* host.x*":            "has no part measurement",
		"host.measurement*.x":          `has the part "measurement*"`,
		"measurement.*":                `has the part "*"`,
		"measurement.a=b":              `has the part "a=b"`,
		"measurement.a;b":              `has the part "a;b"`,
		"serv* measurement*":           `has the part "serv*" in its filter`,
		"a..b measurement*":            `has the part "" in its filter`,
		"host.measurement.host":        "not adjacent",
		strings.Repeat("x.", 32) + "y": "has 33 parts, over the limit of 32",
	} {
		if _, err := ParseTemplates([]string{"measurement*", text}); err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), `"`+text+`"`) {
			t.Errorf("%q: error %v; want it to name the template and say %q", text, err, want)
		}
	}
	_, err := ParseTemplates([]string{"a b c", "host"})
	if err == nil || strings.Count(err.Error(), "template ") != 2 {
		t.Errorf("error %v; want both templates in it", err)
	}
	if _, err := ParseTemplates(make([]string, MostTemplates+1)); err == nil || !strings.Contains(err.Error(), "limit of 100") {
		t.Errorf("error %v; want the limit", err)
	}
}
