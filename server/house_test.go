package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// These tests hold the house to its plan (docs/ARCHITECTURE.md): who may import
// whom, who may touch sockets and flags, what lies at the top, which words are not
// used. They read the source, so code under any build tag counts.

// root is the repository's top, seen from this package.
const root = ".."

// mayImport names for each folder the folders of this module that it may import.
// A folder that is not named here fails the test: its place must be decided.
var mayImport = map[string][]string{
	"frame":                 {},
	"loop":                  {"frame"},
	"handlers/riemann":      {"handlers/riemann/pb"},
	"handlers/riemann/pb":   {},
	"handlers/query":        {"handlers/riemann", "handlers/riemann/pb", "handlers/query/javare", "handlers/query/oracle"},
	"handlers/query/javare": {},
	"handlers/query/oracle": {"handlers/riemann/pb"},
	"handlers/index":        {"handlers/riemann", "handlers/riemann/pb", "handlers/query"},
	"handlers/querylog":     {"frame", "handlers/index"},
	"handlers/series":       {"handlers/riemann"},
	"handlers/graphite":     {"handlers/series", "handlers/riemann"},
	"handlers/opentsdb":     {"handlers/series", "handlers/riemann"},
	"handlers/web":          {"frame", "handlers/riemann", "handlers/riemann/pb", "handlers/query", "handlers/querylog", "handlers/index"},
	"handlers":              {"frame", "handlers/riemann", "handlers/riemann/pb", "handlers/query", "handlers/querylog", "handlers/index", "handlers/series", "handlers/graphite", "handlers/opentsdb"},
	"server":                {"frame", "loop", "handlers", "handlers/riemann", "handlers/riemann/pb", "handlers/query", "handlers/querylog", "handlers/index", "handlers/series", "handlers/graphite", "handlers/opentsdb", "handlers/web", "handlers/query/oracle"},
	"loadtest":              {"frame", "handlers/riemann", "handlers/riemann/pb"},
}

// onlyForTests are folders that no program may have in it.
var onlyForTests = []string{"handlers/query/oracle"}

// mains are the folders that know flags.
var mains = []string{"server", "loadtest"}

// mayOpenSockets are the folders that know sockets: in the daemon, only loop.
var mayOpenSockets = []string{"loop", "loadtest"}

// sourceFile is a parsed file and where it stands.
type sourceFile struct {
	name string // from the top: "loop/conn.go"
	room string // the folder whose rules count: "loadtest" for loadtest/naive, too
	test bool
	*ast.File
}

func sourceFiles(t *testing.T) []sourceFile {
	t.Helper()
	var files []sourceFile
	err := filepath.WalkDir(root, func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		base := entry.Name()
		if entry.IsDir() && name != root && (strings.HasPrefix(base, ".") || base == "testdata" || base == "bin") {
			return filepath.SkipDir
		}
		if entry.IsDir() || !strings.HasSuffix(base, ".go") {
			return nil
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, name)
		if err != nil {
			return err
		}
		rel = filepath.ToSlash(rel)
		files = append(files, sourceFile{rel, roomOf(path.Dir(rel)), strings.HasSuffix(base, "_test.go"), parsed})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func roomOf(folder string) string {
	if strings.HasPrefix(folder, "loadtest/") {
		return "loadtest"
	}
	return folder
}

func (f sourceFile) imports() []string {
	var paths []string
	for _, spec := range f.Imports {
		p, _ := strconv.Unquote(spec.Path.Value) // it parsed, so it is quoted well
		paths = append(paths, p)
	}
	return paths
}

func TestImportsRunDownwards(t *testing.T) {
	for _, f := range sourceFiles(t) {
		allowed, known := mayImport[f.room]
		if !known {
			t.Errorf("%s: folder %s has no place in the house; see mayImport", f.name, f.room)
			continue
		}
		for _, p := range f.imports() {
			ours, ok := strings.CutPrefix(p, "darboux/")
			if ok && roomOf(ours) != f.room && !slices.Contains(allowed, ours) {
				t.Errorf("%s imports %s; %s may import only %v", f.name, ours, f.room, allowed)
			}
			if ok && !f.test && slices.Contains(onlyForTests, ours) {
				t.Errorf("%s imports %s, which is only for tests", f.name, ours)
			}
		}
	}
}

func TestOnlyMainsKnowFlags(t *testing.T) {
	for _, f := range sourceFiles(t) {
		if f.test || slices.Contains(mains, f.room) {
			continue
		}
		for _, p := range f.imports() {
			if p == "flag" || strings.HasPrefix(p, "github.com/peterbourgon/ff") || strings.HasPrefix(p, "github.com/spf13") {
				t.Errorf("%s imports %s: only %v know flags", f.name, p, mains)
			}
		}
	}
}

// socketCalls are the names of unix and syscall that open or use sockets.
var socketCalls = regexp.MustCompile(`^(Socket|Socketpair|Bind|Listen|Accept|Connect|Send|Recv|Getsock|Setsockopt|Getsockopt|Epoll|Shutdown)`)

// harmlessNet are the parts of net that touch no socket.
var harmlessNet = []string{"SplitHostPort", "JoinHostPort", "Addr", "TCPAddr"}

func TestOnlyLoopKnowsSockets(t *testing.T) {
	for _, f := range sourceFiles(t) {
		if f.test || slices.Contains(mayOpenSockets, f.room) {
			continue
		}
		for _, p := range f.imports() {
			if strings.HasPrefix(p, "github.com/panjf2000/gnet") || p == "net/http" {
				t.Errorf("%s imports %s: in the daemon only loop knows sockets", f.name, p)
			}
		}
		ast.Inspect(f.File, func(n ast.Node) bool {
			if pkg, name, ok := selection(n); ok && opensSocket(pkg, name) {
				t.Errorf("%s uses %s.%s: in the daemon only loop knows sockets", f.name, pkg, name)
			}
			return true
		})
	}
}

func selection(n ast.Node) (pkg, name string, ok bool) {
	s, ok := n.(*ast.SelectorExpr)
	if !ok {
		return "", "", false
	}
	x, ok := s.X.(*ast.Ident)
	if !ok {
		return "", "", false
	}
	return x.Name, s.Sel.Name, true
}

func opensSocket(pkg, name string) bool {
	switch pkg {
	case "net":
		return !slices.Contains(harmlessNet, name)
	case "unix", "syscall":
		return socketCalls.MatchString(name)
	}
	return false
}

func TestTopLevel(t *testing.T) {
	allowed := []string{"server", "loop", "frame", "handlers", "loadtest", "docs", "bin",
		"go.mod", "go.sum", "Makefile", "README.md", "CHANGELOG.md", "LICENSE"}
	entries, err := os.ReadDir(root)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), ".") && !slices.Contains(allowed, e.Name()) {
			t.Errorf("%s lies at the top level; allowed are %v and dot files", e.Name(), allowed)
		}
	}
	for _, name := range allowed {
		if _, err := os.Stat(filepath.Join(root, name)); err != nil && name != "bin" {
			t.Errorf("%s is missing at the top level: %v", name, err)
		}
	}
}

// unusedWords say nothing about what a thing does.
var unusedWords = regexp.MustCompile(`(?i)^(manager|helper|util|utils|helpers|packet|packets)$`)

func TestWordsNotUsed(t *testing.T) {
	for _, f := range sourceFiles(t) {
		if strings.HasSuffix(f.name, ".pb.go") {
			continue
		}
		for _, word := range strings.FieldsFunc(strings.TrimSuffix(f.name, ".go"), func(r rune) bool { return r == '/' || r == '_' }) {
			if unusedWords.MatchString(word) {
				t.Errorf("%s: the word %s is not used in names", f.name, word)
			}
		}
		for _, name := range declared(f.File) {
			if name == "Helper" {
				continue // the method of testing.TB
			}
			for _, word := range camelWords.FindAllString(name, -1) {
				if unusedWords.MatchString(word) {
					t.Errorf("%s: %s: the word %s is not used in names", f.name, name, word)
				}
			}
		}
	}
}

var camelWords = regexp.MustCompile(`[A-Z]+[a-z0-9]*|[a-z0-9]+`)

// declared returns the names of a file's functions, types, variables and fields.
func declared(f *ast.File) []string {
	var names []string
	ast.Inspect(f, func(n ast.Node) bool {
		switch d := n.(type) {
		case *ast.FuncDecl:
			names = append(names, d.Name.Name)
		case *ast.TypeSpec:
			names = append(names, d.Name.Name)
		case *ast.ValueSpec:
			for _, id := range d.Names {
				names = append(names, id.Name)
			}
		case *ast.Field:
			for _, id := range d.Names {
				names = append(names, id.Name)
			}
		}
		return true
	})
	return names
}

// The rules must be able to fail: each is tried on a line that breaks it.
func TestRulesCatch(t *testing.T) {
	for _, row := range []struct {
		pkg, name string
		opens     bool
	}{
		{"net", "Dial", true}, {"net", "ListenUDP", true}, {"net", "SplitHostPort", false},
		{"unix", "EpollCreate1", true}, {"syscall", "Socket", true}, {"unix", "Mmap", false}, {"syscall", "SIGTERM", false},
	} {
		if got := opensSocket(row.pkg, row.name); got != row.opens {
			t.Errorf("opensSocket(%s, %s) = %v", row.pkg, row.name, got)
		}
	}
	f, err := parser.ParseFile(token.NewFileSet(), "", "package p; type connManager struct{ aPacket int }; func utilize() {}", 0)
	if err != nil {
		t.Fatal(err)
	}
	var caught []string
	for _, name := range declared(f) {
		for _, word := range camelWords.FindAllString(name, -1) {
			if unusedWords.MatchString(word) {
				caught = append(caught, word)
			}
		}
	}
	if want := []string{"Manager", "Packet"}; !slices.Equal(caught, want) {
		t.Errorf("caught %v, want %v", caught, want)
	}
}
