//go:build long && !race

package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// A finding is what a long test found, to be written to docs/results/.
type finding struct {
	file    string // its name in docs/results/
	title   string
	command string // by which anybody can find it again
	text    string // what was done, and a table of what came of it
}

// write writes the finding with the machine and the commit that it was found on. The
// files are written only when the test has passed.
func (f finding) write(t *testing.T) {
	t.Helper()
	if t.Failed() {
		return
	}
	text := fmt.Sprintf("# %s\n\n- command: `%s`\n- commit: %s\n- machine: %s\n\n%s", f.title, f.command, commit(t), machineText(t), f.text)
	path := filepath.Join(root, "docs", "results", f.file)
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// commit names what the working tree was built from, and says so if the code differs.
func commit(t *testing.T) string {
	t.Helper()
	id, err := exec.Command("git", "-C", root, "rev-parse", "HEAD").Output()
	if err != nil {
		return "unknown: no repository"
	}
	text := string(bytes.TrimSpace(id))
	if exec.Command("git", "-C", root, "diff", "--quiet", "HEAD", "--", "server", "loop", "frame", "handlers", "go.mod").Run() != nil {
		text += ", with changes"
	}
	return text
}

// machineText describes this machine as far as it tells.
func machineText(t *testing.T) string {
	t.Helper()
	cpu := "unknown processor"
	info, err := os.ReadFile("/proc/cpuinfo")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(info)) {
		if name, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(name) == "model name" {
			cpu = strings.TrimSpace(value)
			break
		}
	}
	var system unix.Utsname
	if err := unix.Uname(&system); err != nil {
		t.Fatal(err)
	}
	load, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("%s, %d cores, %s memory, Linux %s, load average at the end %s",
		cpu, runtime.NumCPU(), sizeText(thisMachine().memory/mib*mib), unix.ByteSliceToString(system.Release[:]), strings.Fields(string(load))[0])
}
