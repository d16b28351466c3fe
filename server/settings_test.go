package main

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"darboux/handlers/index"
	"darboux/handlers/riemann"
)

var testMachine = machine{cores: 8, files: 1024, memory: 16 * gib, source: "the test"}

// settingsFile writes a settings file and returns its path.
func settingsFile(t *testing.T, lines string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "darboux.conf")
	if err := os.WriteFile(path, []byte(lines), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestDefaultsAreValid(t *testing.T) {
	o, table, err := load(nil, nil, testMachine)
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{"127.0.0.1:5555"}; !reflect.DeepEqual(o.TCP, want) {
		t.Errorf("TCP = %v, want %v", o.TCP, want)
	}
	if o.Loops != 2 || o.Handlers != 8 || o.MaxConns != 1024-sparedFiles {
		t.Errorf("on 8 cores with 1024 files: loops %d, handlers %d, max-conns %d", o.Loops, o.Handlers, o.MaxConns)
	}
	if o.MaxFrame != 16<<20 || o.MaxEvent != 1<<20 || o.ConnMemory != 256<<10 || o.Memory != 1<<30 {
		t.Errorf("sizes: %+v", o)
	}
	for _, s := range table {
		if s.origin != "default" {
			t.Errorf("%s comes from %q with nothing given", s.name, s.origin)
		}
	}
}

func TestPrecedence(t *testing.T) {
	path := settingsFile(t, "handlers = 1\nloops = 1\nring-slots = 16\nttl = 1m\n")
	environ := []string{"DARBOUX_HANDLERS=2", "DARBOUX_LOOPS=2", "DARBOUX_RING_SLOTS=32", "PATH=/bin"}
	o, table, err := load([]string{"--handlers", "3", "--loops=3", "--config", path}, environ, testMachine)
	if err != nil {
		t.Fatal(err)
	}
	rows := []struct {
		name, origin string
		got, want    any
	}{
		{"handlers", "flag", o.Handlers, 3},
		{"loops", "flag", o.Loops, 3},
		{"ring-slots", "DARBOUX_RING_SLOTS", o.RingSlots, 32},
		{"ttl", path + ":4", o.TTL, time.Minute},
		{"expire-every", "default", o.ExpireEvery, 5 * time.Second},
	}
	for _, r := range rows {
		if r.got != r.want {
			t.Errorf("%s = %v, want %v", r.name, r.got, r.want)
		}
		if origin := settingNamed(table, r.name).origin; origin != r.origin {
			t.Errorf("%s comes from %q, want %q", r.name, origin, r.origin)
		}
	}
}

func TestConfigMayBeNamedByAVariable(t *testing.T) {
	path := settingsFile(t, "handlers = 7")
	o, _, err := load(nil, []string{"DARBOUX_CONFIG=" + path}, testMachine)
	if err != nil || o.Handlers != 7 {
		t.Errorf("handlers = %v, error %v", o, err)
	}
}

func TestValues(t *testing.T) {
	rows := []struct {
		flag string
		got  func(o *Options) any
		want any // an error's text if it is an error
	}{
		{"--max-frame=64MiB", func(o *Options) any { return o.MaxFrame }, int64(64 << 20)},
		{"--max-frame=64MB", func(o *Options) any { return o.MaxFrame }, int64(64e6)},
		{"--max-frame=65536", func(o *Options) any { return o.MaxFrame }, int64(65536)},
		{"--max-frame=1KiB", func(o *Options) any { return o.MaxFrame }, int64(1024)},
		{"--max-frame=1023", nil, `--max-frame "1023" (flag): must be a size such as 64KiB, from 1KiB to 1GiB`},
		{"--max-frame=-1", nil, `--max-frame "-1" (flag): must be a size`},
		{"--max-frame=many", nil, `--max-frame "many" (flag): must be a size`},
		{"--max-frame=99999999999999999999GiB", nil, "must be a size"},
		{"--max-frame=", nil, `--max-frame "" (flag): must be a size`},
		{"--loops=auto", func(o *Options) any { return o.Loops }, 2},
		{"--loops=256", func(o *Options) any { return o.Loops }, 256},
		{"--loops=0", nil, `--loops "0" (flag): must be a whole number from 1 to 256, or auto`},
		{"--loops=257", nil, "from 1 to 256"},
		{"--handlers=0", func(o *Options) any { return o.Handlers }, 0},
		{"--handlers=1.5", nil, "must be a whole number from 0 to 1024, or auto"},
		{"--ring-slots=64", func(o *Options) any { return o.RingSlots }, 64},
		{"--ring-slots=63", nil, `--ring-slots "63" (flag): must be a power of two from 2 to 65536`},
		{"--ring-slots=1", nil, "from 2 to 65536"},
		{"--ttl=90s", func(o *Options) any { return o.TTL }, 90 * time.Second},
		{"--ttl=1.5s", nil, "whole seconds"},
		{"--ttl=0", nil, "whole seconds"},
		{"--expire-every=1h", func(o *Options) any { return o.ExpireEvery }, time.Hour},
		{"--expire-every=5", nil, "must be a duration such as 1m30s"},
		{"--expire-keep=host, tags", func(o *Options) any { return o.ExpireKeep }, riemann.HasHost | riemann.HasTags},
		{"--expire-keep=", func(o *Options) any { return o.ExpireKeep }, riemann.Fields(0)},
		{"--expire-keep=host,color", nil, `--expire-keep "host,color" (flag): "color" is no field that a notice of an expiry can keep`},
		{"--newest-wins", func(o *Options) any { return o.NewestWins }, true},
		{"--index-entries=100000", func(o *Options) any { return o.IndexEntries }, 100_000},
		{"--index-entries=-1", nil, `--index-entries "-1" (flag): must be a whole number from 0 to 1000000000`},
		{"--index-memory=64MiB", func(o *Options) any { return o.IndexMemory }, 64 * mib},
		{"--index-memory=1MiB", nil, `--index-memory "1MiB" (flag): must be a size such as 64KiB, from ` + sizeText(index.LeastMemory(0)) + ` to ` + sizeText(index.MaxMemory) + `, or auto`},
		{"--snapshot=/var/lib/x", func(o *Options) any { return o.Snapshot }, "/var/lib/x"},
		{"--snapshot-every=0", func(o *Options) any { return o.SnapshotEvery }, time.Duration(0)},
		{"--snapshot-every=1ms", nil, `--snapshot-every "1ms" (flag): must be a duration such as 1m30s, from 100ms to 24h0m0s, or 0`},
		{"--snapshot-timeout=5m", func(o *Options) any { return o.SnapshotTimeout }, 5 * time.Minute},
		{"--snapshot-timeout=0", nil, `--snapshot-timeout "0" (flag): must be a duration`},
		{"--snapshot-salvage=perhaps", nil, `--snapshot-salvage "perhaps" (flag): must be true or false`},
		{"--self-events=0", func(o *Options) any { return o.SelfEvents }, time.Duration(0)},
		{"--self-events=1ms", nil, "from 100ms to 1h0m0s, or 0"},
		{"--drain-timeout=0", nil, "must be a duration"},
		{"--tcp=", func(o *Options) any { return o.TCP }, []string(nil)},
		{"--tcp=a:1, b:2", func(o *Options) any { return o.TCP }, []string{"a:1", "b:2"}},
		{"--tcp=[::1]:0", func(o *Options) any { return o.TCP }, []string{"[::1]:0"}},
		{"--tcp=localhost", nil, `"localhost" is not`},
		{"--tcp=a:65536", nil, `the port of "a:65536" is not a number from 0 to 65535`},
		{"--tcp=a:http", nil, `the port of "a:http"`},
		{"--udp=", func(o *Options) any { return o.UDP }, []string(nil)},
		{"--udp=a:1, b:2", func(o *Options) any { return o.UDP }, []string{"a:1", "b:2"}},
		{"--udp=5555", nil, `--udp "5555" (flag): must be host:port`},
		{"--udp-buffer=1MiB", func(o *Options) any { return o.UDPBuffer }, int64(1 << 20)},
		{"--udp-buffer=1KiB", nil, `--udp-buffer "1KiB" (flag): must be a size such as 64KiB, from 4KiB to 1GiB`},
		{"--graphite=a:2003", func(o *Options) any { return o.Graphite }, []string{"a:2003"}},
		{"--graphite-ttl=5m", func(o *Options) any { return o.GraphiteTTL }, 5 * time.Minute},
		{"--graphite-ttl=0", func(o *Options) any { return o.GraphiteTTL }, time.Duration(0)},
		{"--graphite-ttl=1.5s", nil, `--graphite-ttl "1.5s" (flag): must be a duration of whole seconds`},
		{"--graphite-template=host", nil, `--graphite-template "host" (flag): template "host" has no part measurement`},
		{"--graphite-template=measurement*,a b c", nil, `template "a b c" must be [FILTER] PARTS`},
		{"--opentsdb=a:4242", func(o *Options) any { return o.OpenTSDB }, []string{"a:4242"}},
		{"--max-line=64KiB", func(o *Options) any { return o.MaxLine }, int64(64 << 10)},
		{"--max-line=65KiB", nil, `--max-line "65KiB" (flag): must be a size such as 64KiB, from 64B to 64KiB`},
		{"--http=", func(o *Options) any { return o.HTTP }, []string(nil)},
		{"--http=127.0.0.1:8080", func(o *Options) any { return o.HTTP }, []string{"127.0.0.1:8080"}},
		{"--http-max-head=64KiB", func(o *Options) any { return o.HTTPMaxHead }, int64(64 << 10)},
		{"--http-max-head=65KiB", nil, "from 1KiB to 64KiB"},
		{"--http-max-body=1GiB", nil, `--memory "1GiB" (default): half of it is the reserve for large frames and must hold an HTTP request of --http-max-body "1GiB" (flag), in chunks`},
		{"--http-producers=1025", nil, "from 1 to 1024"},
		{"--http-idle-timeout=0", func(o *Options) any { return o.HTTPIdleTimeout }, time.Duration(0)},
		{"--http-read-token=/nowhere/token", nil, `--http-read-token "/nowhere/token" (flag): must be a file with a token`},
		{"--http-cors=https://grafana.example:3000", func(o *Options) any { return o.HTTPCORS }, "https://grafana.example:3000"},
		{"--http-cors=grafana.example", nil, "must be an origin such as https://host:port"},
		{"--http-cors=https://grafana.example/x", nil, "must be an origin"},
		{"--http-traces=localhost:4318", nil, "must be a URL such as"},
		{"--http-access-log=maybe", nil, "must be true or false"},
		{"--log-level=debug", func(o *Options) any { return o.LogLevel }, "debug"},
		{"--log-level=loud", nil, `must be debug or info or warn or error`},
		{"--log-format=xml", nil, `--log-format "xml" (flag): must be text or json`},
		{"--max-conns=10", func(o *Options) any { return o.MaxConns }, 10},
		{"--max-conns=0", nil, "from 1 to 10000000, or auto"},
		{"--check=perhaps", nil, "must be true or false"},
		{"--nonsense=1", nil, "there is no flag --nonsense; see --help"},
		{"--max-frame", nil, "--max-frame needs a value; see --help"},
		{"-=1", nil, "bad flag syntax: -=1; see --help"},
		{`--snapshot="/var/lib/x"`, nil, `--snapshot "\"/var/lib/x\"" (flag): stands in quotes, which would be part of it: write it without them`},
		{`--max-frame='1MiB'`, nil, `--max-frame "'1MiB'" (flag): stands in quotes`},
		{`--snapshot="`, func(o *Options) any { return o.Snapshot }, `"`},
		{"nonsense", nil, `unexpected argument "nonsense"`},
		{"--conn-memory=100KiB", nil, `--conn-memory "100KiB" (flag): must be a size such as 64KiB, from 128KiB to 1GiB`},
		{"--memory=32MiB", nil, `--memory "32MiB" (flag): half of it is the reserve for large frames and must hold one of --max-frame "16MiB" (default) with its header: give at least 33554440B`},
		{"--memory=42139656", func(o *Options) any { return o.Memory }, int64(42139656)},
		{"--loops=250", func(o *Options) any { return o.Loops }, 250},
	}
	for _, r := range rows {
		t.Run(r.flag, func(t *testing.T) {
			o, _, err := load([]string{r.flag}, nil, testMachine)
			if r.got == nil {
				if err == nil || !strings.Contains(err.Error(), r.want.(string)) {
					t.Fatalf("error %v, want %q in it", err, r.want)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if got := r.got(o); !reflect.DeepEqual(got, r.want) {
				t.Errorf("got %v, want %v", got, r.want)
			}
		})
	}
}

func TestRelations(t *testing.T) {
	for _, r := range []struct {
		args string
		want string // in the error; empty: there is none
	}{
		{"--max-frame 1MiB --memory 8MiB --loops 4", ""},
		{"--max-frame 1MiB --memory 8MiB --loops 5", `--memory "8MiB" (flag): half of it is split over the loops, --loops "5" (flag), here 5, of which each needs 1MiB: give at least 10MiB`},
		{"--max-frame 1MiB --memory 3MiB", `half of it is split over the loops, --loops "auto" (default), here 2,`},
		{"--ring-slots 2 --loops 2", ""},
		{"--ring-slots 2 --loops 3", `--ring-slots "2" (flag): each loop needs a slot, and there are 3 by --loops "3" (flag)`},
		{"--ring-slots 2 --loops 3 --handlers 0", ""},
		{"--snapshot x --snapshot-salvage", ""},
		{"--snapshot-salvage", `--snapshot-salvage "true" (flag): there is nothing to salvage without a file by --snapshot`},
	} {
		_, _, err := load(strings.Fields("--http= "+r.args), nil, testMachine)
		if r.want == "" && err != nil || r.want != "" && (err == nil || !strings.Contains(err.Error(), r.want)) {
			t.Errorf("%s: error %v, want %q", r.args, err, r.want)
		}
	}
}

func TestTCPFlagRepeats(t *testing.T) {
	o, _, err := load([]string{"--tcp", "a:1", "--tcp", "b:2,c:3"}, []string{"DARBOUX_TCP=d:4"}, testMachine)
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{"a:1", "b:2", "c:3"}; !reflect.DeepEqual(o.TCP, want) {
		t.Errorf("TCP = %v, want %v", o.TCP, want)
	}
}

// Only a list may be given several times: two values of anything else are one too many.
func TestFlagGivenTwice(t *testing.T) {
	for _, s := range settings(&Options{}) {
		text := func(n string) string { return fmt.Sprintf("--%s=%s", s.name, n) }
		_, _, err := load([]string{text("1"), text("2")}, nil, testMachine)
		want := fmt.Sprintf(`--%s is given twice, as "1" and as "2": it has one value`, s.name)
		if got := err != nil && strings.Contains(err.Error(), want); got == s.list {
			t.Errorf("--%s: error %v", s.name, err)
		}
		if says := strings.Contains(s.help, "repeatable"); says != s.list {
			t.Errorf("--%s: a list: %v; its help says %q", s.name, s.list, s.help)
		}
	}
}

// Kubernetes tells a container of the services beside it by variables.
func TestVariablesOfServices(t *testing.T) {
	passed := []string{
		"DARBOUX_SERVICE_HOST=10.0.171.239", "DARBOUX_SERVICE_PORT=5555", "DARBOUX_SERVICE_PORT_RIEMANN_UDP=5555",
		"DARBOUX_PORT=tcp://10.0.171.239:5555", "DARBOUX_PORT_5555_TCP=tcp://10.0.171.239:5555", "DARBOUX_PORT_5555_TCP_PROTO=tcp",
		"DARBOUX_PORT_5555_TCP_PORT=5555", "DARBOUX_PORT_5555_TCP_ADDR=10.0.171.239", "DARBOUX_PORT_5555_UDP=udp://[fd00::1]:5555",
		"DARBOUX_METRICS_SERVICE_HOST=fd00::1", "DARBOUX_METRICS_PORT_80_TCP_ADDR=10.0.0.1",
	}
	if _, _, err := load(nil, passed, testMachine); err != nil {
		t.Error(err)
	}
	for _, refused := range []string{
		"DARBOUX_PORT=5555", "DARBOUX_SERVICE_HOST=web1", "DARBOUX_SERVICE_PORT=http", "DARBOUX_SERVICE_PORT=0", "DARBOUX_PORT_5555_TCP=5555",
		"DARBOUX_PORT_TCP=tcp://10.0.0.1:1", "DARBOUX_PORT_5555_TCP_PROTO=quic", "DARBOUX_SERVICE=10.0.0.1", "DARBOUX_PORT_5555_TCP_ADDR=",
	} {
		name, text, _ := strings.Cut(refused, "=")
		_, _, err := load(nil, []string{refused}, testMachine)
		if want := fmt.Sprintf("variable %s=%q sets nothing: there is no such setting", name, text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v", refused, err)
		}
	}
}

// Whoever has mistakes in three places learns of all of them at once.
func TestAllErrorsAtOnce(t *testing.T) {
	path := settingsFile(t, strings.Join([]string{
		"# a comment", "", "ttl = soon", "lops = 2", "just words", "expire-every = 5s", "expire-every = 6s", "version = true",
	}, "\n"))
	args := []string{"--http", "", "--loops", "x", "--bogus", "--=1", "--max-frame", "1TiB", "stray", "--memory=1MiB", "--config", path}
	environ := []string{"DARBOUX_RING_SLOTS=3", "DARBOUX_TYPO=1", "DARBOUX_CHECK=1"}
	_, _, err := load(args, environ, testMachine)
	if err == nil {
		t.Fatal("no error")
	}
	for _, want := range []string{
		`--loops "x" (flag): must be a whole number from 1 to 256, or auto`,
		`there is no flag --bogus`,
		`bad flag syntax: --=1`,
		`--max-frame "1TiB" (flag): must be a size`,
		`unexpected argument "stray"`,
		`--ring-slots "3" (DARBOUX_RING_SLOTS): must be a power of two`,
		`DARBOUX_TYPO="1" sets nothing`,
		`DARBOUX_CHECK="1" sets nothing: --check is a flag only`,
		`--ttl "soon" (` + path + `:3): must be`,
		path + `:4: key "lops" (value "2") sets nothing`,
		path + `:5: "just words" is not of the form key = value`,
		path + `:7: key "expire-every" (value "6s") stands at ` + path + `:6 already`,
		path + `:8: key "version" (value "true") sets nothing in a file`,
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("missing: %s", want)
		}
	}
	if lines := strings.Count(err.Error(), "\n") + 1; lines != 13 {
		t.Errorf("%d lines of errors, want 13:\n%v", lines, err)
	}
}

func TestMissingConfigFile(t *testing.T) {
	_, _, err := load([]string{"--config", "/nonexistent/darboux.conf"}, nil, testMachine)
	if !errors.Is(err, os.ErrNotExist) || !strings.Contains(err.Error(), "--config") {
		t.Errorf("error %v", err)
	}
}

func TestFileSyntax(t *testing.T) {
	o := &Options{}
	found, err := readLines(settings(o), "f", strings.NewReader(
		"\n  # alone\n tcp = a:1, b:2 # behind\nlog-level=debug\t# tab\nmax-frame =\n"))
	if err != nil {
		t.Fatal(err)
	}
	want := layer{"tcp": {"a:1, b:2", "f:3"}, "log-level": {"debug", "f:4"}, "max-frame": {"", "f:5"}}
	if !reflect.DeepEqual(found, want) {
		t.Errorf("got %v, want %v", found, want)
	}
}

func TestHelpIsNoError(t *testing.T) {
	_, table, err := load([]string{"--loops", "x", "--help"}, nil, testMachine)
	if !errors.Is(err, flag.ErrHelp) {
		t.Fatalf("error %v, want flag.ErrHelp", err)
	}
	var out bytes.Buffer
	printHelp(&out, table)
	for _, s := range table {
		if !strings.Contains(out.String(), "--"+s.name) || !strings.Contains(out.String(), s.help) {
			t.Errorf("help does not speak of --%s", s.name)
		}
	}
}

// What --check prints is a settings file that sets the same.
func TestPrintedSettingsReadBack(t *testing.T) {
	first, table, err := load([]string{"--tcp", "a:1,[::1]:2", "--loops=3", "--max-frame=2MB", "--self-events=0", "--graphite-template", "servers.* .host.measurement*", "--graphite-template", "measurement*"}, nil, testMachine)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	printSettings(&out, first, table)
	path := settingsFile(t, out.String())
	second, _, err := load([]string{"--config", path}, nil, testMachine)
	if err != nil {
		t.Fatalf("%v in:\n%s", err, out.String())
	}
	first.Config = path
	if !reflect.DeepEqual(first, second) {
		t.Errorf("printed:\n%s\nread back as %+v\nwant         %+v", out.String(), second, first)
	}
	if !strings.Contains(out.String(), "handlers = auto                    # default, here 8\n") {
		t.Errorf("no note of what auto came to:\n%s", out.String())
	}
}

func TestSizeTextReadsBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.Int64Range(1, mostMemory).Draw(t, "n") << rapid.IntRange(0, 12).Draw(t, "shift")
		var back int64
		if err := size(&back, 0, n)(sizeText(n)); err != nil || back != n {
			t.Fatalf("%d is written %q, read as %d, %v", n, sizeText(n), back, err)
		}
	})
}

func FuzzSettingsFile(f *testing.F) {
	f.Add("loops = 2\n# x\ntcp = a:1 # y")
	f.Add("=\n==\n#\nloops")
	f.Fuzz(func(t *testing.T, text string) {
		table := settings(&Options{})
		found, err := readLines(table, "f", strings.NewReader(text))
		if err != nil {
			return
		}
		var again strings.Builder
		for key, g := range found {
			again.WriteString(key + "=" + g.text + "\n")
		}
		back, err := readLines(table, "f", strings.NewReader(again.String()))
		if err != nil {
			t.Fatalf("%q was read, but %q: %v", text, again.String(), err)
		}
		for key, g := range found {
			if back[key].text != g.text {
				t.Errorf("%s: %q became %q", key, g.text, back[key].text)
			}
		}
		if len(back) != len(found) {
			t.Errorf("%d settings became %d", len(found), len(back))
		}
	})
}
