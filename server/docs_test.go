package main

import (
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// document returns a file of the repository's as text.
func document(t *testing.T, name string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(root, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// flagRow is a setting's row in the README's table.
func flagRow(s *setting) string {
	flag := strings.TrimSpace("--" + s.name + " " + s.value)
	initial := ""
	if s.value != "" && s.initial != "" {
		initial = "`" + s.initial + "`"
	}
	return fmt.Sprintf("| `%s` | %s | %s |", strings.ReplaceAll(flag, "|", `\|`), initial, s.help)
}

// The README's table has each flag with its default and help, in the order of
// --help, and nothing else.
func TestREADMEHasTheFlags(t *testing.T) {
	var want []string
	for _, s := range settings(&Options{}) {
		want = append(want, flagRow(s))
	}
	got := regexp.MustCompile("(?m)^\\| `--.*$").FindAllString(document(t, "README.md"), -1)
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("the table in README.md should be:\n%s", strings.Join(want, "\n"))
	}
}

// The README's settings file is one.
func TestREADMESettingsFile(t *testing.T) {
	_, example, found := strings.Cut(document(t, "README.md"), "```\n# /etc/darboux.conf\n")
	example, _, _ = strings.Cut(example, "```")
	if !found {
		t.Fatal("README.md has no settings file")
	}
	o, _, err := load([]string{"--config", settingsFile(t, example)}, nil, testMachine)
	if err != nil || len(o.TCP) != 2 || o.MaxFrame != 4*mib || o.Snapshot != "/var/lib/darboux/index" {
		t.Errorf("error %v, settings %+v", err, o)
	}
}

// Whatever the documents call a flag is one, of the daemon or of the load client's
// section of them.
func TestDocumentsNameRealFlags(t *testing.T) {
	known := map[string]bool{"help": true}
	for _, s := range settings(&Options{}) {
		known[s.name] = true
	}
	mention := regexp.MustCompile("--([a-z][a-z-]+)")
	for _, name := range []string{"README.md", "CHANGELOG.md", "docs/ARCHITECTURE.md", "docs/LIMITS.md", "docs/HTTP.md"} {
		for _, m := range mention.FindAllStringSubmatch(document(t, name), -1) {
			if !known[m[1]] {
				t.Errorf("%s speaks of --%s, which is no flag", name, m[1])
			}
		}
	}
}

// Files and folders that the documents link to are there.
func TestDocumentLinks(t *testing.T) {
	link := regexp.MustCompile(`\]\(([^)#:]+)(#[^)]*)?\)`)
	for _, name := range []string{"README.md", "CHANGELOG.md", "docs/ARCHITECTURE.md", "docs/LIMITS.md", "docs/HTTP.md"} {
		for _, m := range link.FindAllStringSubmatch(document(t, name), -1) {
			target := filepath.Join(root, filepath.Dir(name), m[1])
			if _, err := os.Stat(target); err != nil {
				t.Errorf("%s links to %s: %v", name, m[1], err)
			}
		}
	}
}

// docs/LIMITS.md has a section for each limit that has a flag.
func TestLIMITSHasTheLimits(t *testing.T) {
	text := document(t, "docs/LIMITS.md")
	for _, name := range []string{"max-frame", "max-event", "conn-memory", "memory", "socket-buffer", "max-conns",
		"max-conns-per-address", "max-line", "udp-buffer", "http-max-head", "http-max-body", "http-idle-timeout", "http-producers", "frame-timeout", "write-timeout", "ring-slots", "loops", "handlers",
		"index-entries", "index-memory", "snapshot-timeout", "drain-timeout", "log-memory"} {
		s := settingNamed(settings(&Options{}), name)
		if want := fmt.Sprintf("| `--%s` | `%s` |", name, s.initial); !strings.Contains(text, want) {
			t.Errorf("docs/LIMITS.md has no row that begins %s", want)
		}
	}
}

// The README's first minute works as written: its commands, in order, with the
// daemon's address behind them.
func TestREADMEFirstMinute(t *testing.T) {
	need(t, "riemann-client", "riemann-c-client")
	commands := regexp.MustCompile("(?m)^riemann-client .*$").FindAllString(document(t, "README.md"), -1)
	if len(commands) != 4 {
		t.Fatalf("%d commands in README.md, want 4: %q", len(commands), commands)
	}
	d := start(t, "--self-events", "100ms")
	address := " " + strings.Join(hostPort(t, d), " ")
	for _, send := range commands[:2] {
		do(t, "", "sh", "-c", send+address)
	}
	if out := do(t, "", "sh", "-c", commands[2]+address); !strings.Contains(out, "web2") || strings.Contains(out, "web1") {
		t.Errorf("%s printed:\n%s", commands[2], out)
	}
	limit := newDeadline(t)
	for !strings.Contains(do(t, "", "sh", "-c", commands[3]+address), "darboux frames received") {
		limit.check(commands[3] + " does not show the frames received")
	}
}

// docs/ARCHITECTURE.md shows the path of each way in as the start prints it.
func TestARCHITECTUREHasThePaths(t *testing.T) {
	text := document(t, "docs/ARCHITECTURE.md")
	args := []string{"--graphite", "127.0.0.1:2003", "--opentsdb", "127.0.0.1:4242"}
	o, _, err := load(args, nil, testMachine)
	if err != nil {
		t.Fatal(err)
	}
	s := newServer(o, slog.New(slog.DiscardHandler))
	defer s.store.Close()
	var want strings.Builder
	for _, w := range s.ways() {
		fmt.Fprintf(&want, "%s, %s\n  %s\n", w.flag, w.network, strings.ReplaceAll(pathOf(o, w), " | ", "\n  "))
	}
	if !strings.Contains(text, "```\n"+want.String()+"```") {
		t.Errorf("docs/ARCHITECTURE.md should have:\n%s", want.String())
	}
}

// docs/LIMITS.md shows the terms of memory as the start logs them, for the test's machine.
func TestLIMITSHasTheTerms(t *testing.T) {
	o, _, err := load(nil, nil, testMachine)
	if err != nil {
		t.Fatal(err)
	}
	text := document(t, "docs/LIMITS.md")
	all := append(o.terms(), term{"index", o.IndexMemory})
	want := "```\n"
	for _, part := range append(all, term{"total", totalOf(all)}) {
		want += fmt.Sprintf("%-12s %13d\n", part.name, part.bytes)
		if row := "| `" + part.name + "` | "; part.name != "total" && !strings.Contains(text, row) {
			t.Errorf("docs/LIMITS.md has no row that begins %s", row)
		}
	}
	_, example, _ := strings.Cut(text, "<!-- example: begin -->\n")
	example, _, _ = strings.Cut(example, "<!-- example: end -->")
	if want += "```\n"; example != want && !indexOnHeap { // an index on the heap may be smaller
		t.Errorf("between the marks of the example docs/LIMITS.md should have:\n%s", want)
	}
}

// docs/ARCHITECTURE.md has a row for each folder with code, and for each module that code
// of ours imports.
func TestARCHITECTUREHasTheCodeAndItsDependencies(t *testing.T) {
	text := document(t, "docs/ARCHITECTURE.md")
	for folder := range mayImport {
		if !strings.Contains(text, "`"+folder+"/`") {
			t.Errorf("the code map does not have `%s/`", folder)
		}
	}
	_, table, _ := strings.Cut(text, "## Dependencies")
	modules := regexp.MustCompile(`([a-z]+\.)+[a-z]+/[A-Za-z0-9_./-]*[A-Za-z0-9]`).FindAllString(table, -1)
	for _, f := range sourceFiles(t) {
		for _, p := range f.imports() {
			first, _, _ := strings.Cut(p, "/") // one of the standard library has no dot
			within := func(module string) bool { return p == module || strings.HasPrefix(p, module+"/") }
			if strings.Contains(first, ".") && !slices.ContainsFunc(modules, within) {
				t.Errorf("%s imports %s, which is not among the dependencies", f.name, p)
			}
		}
	}
}
