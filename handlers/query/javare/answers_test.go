package javare

import (
	"compress/gzip"
	"encoding/base64"
	"errors"
	"io"
	"os"
	"strings"
	"testing"
)

// TestAnswersOfJava runs the rows of testdata/answers.tsv.gz, which
// testdata/Answers.java wrote on OpenJDK 25: random patterns and texts about line
// ends, random syntax, and every named class. A pattern that Java takes must
// match the same here or be refused by name.
func TestAnswersOfJava(t *testing.T) {
	var same, wrong, refused int
	for _, line := range answers(t) {
		fields := strings.Split(line, "\t")
		pattern := decode64(t, fields[1])
		r, err := Compile(pattern)
		var e *Error
		switch {
		case err != nil && !errors.As(err, &e):
			t.Errorf("%q: an error of another kind: %v", pattern, err)
		case fields[0] == "error" && err == nil:
			t.Errorf("%q: Java refuses it", pattern)
		case fields[0] == "error":
			wrong++
		case err != nil && (strings.Contains(e.What, "RE2 can't run") || strings.Contains(e.What, "not known here")):
			refused++
		case err != nil:
			t.Errorf("%q: %v, Java takes it", pattern, err)
		default:
			same++
			for i, want := range fields[0] {
				text := decode64(t, fields[2+i])
				if got := r.Match([]byte(text)); got != (want == 't') {
					t.Errorf("%q in %q: %v, Java says %c", pattern, text, got, want)
				}
			}
		}
	}
	t.Logf("%d patterns match the same, %d are wrong to both, %d are refused by name", same, wrong, refused)
	if same < 5000 || wrong < 1000 {
		t.Errorf("too few rows to mean anything")
	}
}

func answers(t *testing.T) []string {
	t.Helper()
	f, err := os.Open("testdata/answers.tsv.gz")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	all, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	return strings.Split(strings.TrimRight(string(all), "\n"), "\n")
}

func decode64(t *testing.T, s string) string {
	t.Helper()
	b, err := base64.StdEncoding.DecodeString(s)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}
