package main

import (
	"path/filepath"
	"strings"
	"testing"
)

// Bad usage is exit code 2 and an error that names value, limit and flag.
func TestUsageErrors(t *testing.T) {
	for _, test := range []struct {
		args string
		want string
	}{
		{"--connections 0", `invalid value "0" for flag --connections: must be a whole number from 1 to 100000`},
		{"--connections many", `--connections: must be`},
		{"--pipeline 99999999", `--pipeline: must be a whole number from 1 to 1048576`},
		{"--rate 0", `--rate: must be a number a second`},
		{"--rate 2G", `--rate: must be`},
		{"--rate 5m/s", `--rate: must be`},
		{"--rate 10 --pipeline 2", `--pipeline: is of the closed loop`},
		{"--outstanding 5", `--outstanding: is of the open loop`},
		{"--arrivals bursts --rate 5", `--arrivals "bursts"`},
		{"--duration 0s", `--duration 0s: must be 1ms to 24h`},
		{"--duration 25h", `--duration 25h0m0s`},
		{"--duration soon", `--duration`},
		{"--timeout 1ms", `--timeout 1ms: must be 10ms to 10m`},
		{"--batch 0", `--batch: must be a whole number from 1 to 100000`},
		{"--batch 100000 --event-size 10kB", `--batch 100000`},
		{"--event-size 1GiB", `--event-size: must be a size such as 185 or 64KiB, at most 16 MiB`},
		{"--event-size 3", `--event-size 3: an event with these fields has at least`},
		{"--hosts 10000000 --services 10000000", `--hosts 10000000 × --services 10000000: at most`},
		{"--zipf 0.5", `--zipf 0.5`},
		{"--query-share 2", `--query-share: must be a share`},
		{"--query-share 110%", `--query-share: must be a share`},
		{"--query-share 5%", `--query-share 0.05: needs at least one --query`},
		{"--metric int", `--metric "int": must be one of sint64`},
		{"--scenario chaos", `--scenario "chaos": must be one of ingest`},
		{"--half-close", `--half-close: needs --requests-per-connection`},
		{"--side noise", `--side "noise"`},
		{"--side flood", `--side flood: needs --side-connections`},
		{"--scenario drain", `--stop (scenario drain): needs --start`},
		{"--start darboux", `--start "darboux": must say with {addr}`},
		{"--verify --metric f", `--verify with --metric f`},
		{"--verify --hosts 1 --services 1", `--verify: needs at least as many keys`},
		{"--verify --ttl 5s", `--ttl 5s: with --verify`},
		{"--target 192.0.2.1:5555", `--target 192.0.2.1:5555: is not this machine's loopback; --allow-remote`},
		{"--target nowhere", `--target "nowhere"`},
		{"--proto sctp", `--proto "sctp": must be tcp or udp`},
		{"--proto udp", `--proto udp: needs --rate`},
		{"--proto udp --rate 5 --verify", `--verify: does not go with --proto udp`},
		{"--json /nonexistent/x.json", `--json: open /nonexistent/x.json: no such file or directory`},
		{"--html /nonexistent/x.html", `--html: open /nonexistent/x.html`},
		{"--hdr /", `--hdr: open /: is a directory`},
		{"--proto udp --rate 5 --json /nonexistent/x.json", `--json: open /nonexistent/x.json`},
		{"compare one:{addr} two:{addr} --out /proc/x/y", `--out: mkdir /proc/x`},
		{"sweep --start x:{addr}:{loops}:{handlers} --out /proc/x/y", `--out: mkdir /proc/x`},
		{"sink now", `sink: "now" is no flag`},
		{"--frobnicate", `flag provided but not defined: --frobnicate`},
		{"--connections", `flag needs an argument: --connections`},
		{"sweeep", `"sweeep": is no command and no flag`},
		{"sweep", `sweep: needs --start`},
		{"sweep --start x:{addr}", `--loops: nothing in --start says where {loops} go`},
		{"sweep --start x:{addr}:{loops}:{handlers} --rate 5", `--rate: a sweep`},
		{"sweep --start x:{addr} --pipelines 1,0", `--pipelines: must be whole numbers`},
		{"sweep --start x:{addr} --batch 5", `takes lists`},
		{"compare one:{addr}", `compare: needs two server commands, got 1`},
		{"compare one two", `must say with {addr}`},
		{"compare one:{addr} two", `--start "two": must say with {addr}`},
		{"report run.json", `report: needs --html`},
		{"naive now", `naive: "now" is no flag`},
	} {
		exit, out, errors := call(t, strings.Fields(test.args)...)
		if exit != exitUsage || !strings.Contains(errors, test.want) || out != "" {
			t.Errorf("%s: exit %d, %q, want %q", test.args, exit, errors, test.want)
		}
	}
}

func TestHelp(t *testing.T) {
	for _, c := range commands() {
		exit, out, errors := call(t, c.name, "--help")
		if exit != exitOK || !strings.Contains(out, "--") || errors != "" {
			t.Errorf("%s: exit %d\n%s%s", c.name, exit, out, errors)
		}
	}
	_, out, _ := call(t, "--help")
	for _, want := range []string{"sweep", "compare", "one-slow-query", "--expect-p99", "Exit codes", "--connections connections", "(default 8)"} {
		if !strings.Contains(out, want) {
			t.Errorf("the help lacks %q", want)
		}
	}
}

func TestOptionsTogether(t *testing.T) {
	parse := func(args string) *options {
		o := defaults()
		if _, err := o.parse("run", "", strings.Fields(args), nil, o.registerTarget); err != nil {
			t.Fatalf("%s: %v", args, err)
		}
		return o
	}
	if o := parse("--scenario churn"); o.perConn != 10 || o.pipeline != 5 {
		t.Errorf("churn: %d a connection, %d outstanding", o.perConn, o.pipeline)
	}
	if o := parse("--scenario churn --pipeline 9"); o.perConn != 10 || o.pipeline != 9 {
		t.Errorf("a flag loses against its scenario: %d", o.pipeline)
	}
	if o := parse("--count 5"); o.duration != countedDuration || o.count != 5 {
		t.Errorf("count 5: at most %v", o.duration)
	}
	if o := parse("--count 5 --duration 2s"); o.duration.Seconds() != 2 {
		t.Errorf("count 5: at most %v", o.duration)
	}
	if o := parse("--verify --duration 1h"); o.load.TTL < o.longest() {
		t.Errorf("entries with ttl %v do not outlive %v", o.load.TTL, o.longest())
	}
	if o := parse("--rate 1.5M --batch 100 --query-share 1% --query a --query b"); o.rate != 1.5e6 || o.load.QueryShare != 0.01 || len(o.load.Queries) != 2 {
		t.Errorf("%v, %v, %v", o.rate, o.load.QueryShare, o.load.Queries)
	}
	if a, err := parse("--target localhost:1").loopback(); err != nil || filepath.Base(a) == "" {
		t.Errorf("localhost: %q, %v", a, err)
	}
	if _, err := parse("--target 192.0.2.1:1 --allow-remote").loopback(); err != nil {
		t.Errorf("an allowed remote target: %v", err)
	}
}
