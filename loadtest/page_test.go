package main

import (
	"bytes"
	"context"
	"image"
	"image/png"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"
)

// browser finds a headless Chromium; the page can't be tested without.
func browser(t *testing.T) string {
	t.Helper()
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	const missing = "no Chromium is installed (Debian: apt-get install chromium): the page of plots is not tested"
	if os.Getenv("CI") != "" {
		t.Fatal(missing)
	}
	t.Skip(missing)
	return ""
}

// show opens a page in the browser.
func show(t *testing.T, page string, flags ...string) []byte {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	flags = append([]string{"--headless", "--no-sandbox", "--disable-gpu", "--user-data-dir=" + t.TempDir()}, flags...)
	cmd := exec.CommandContext(ctx, browser(t), append(flags, "file://"+page)...)
	var errors bytes.Buffer
	cmd.Stderr = &errors
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, errors.String())
	}
	return out
}

var points = regexp.MustCompile(`<figure id="([a-z]+)" data-points="([0-9]+)"`)

// checkPage opens a page and looks for its plots: each figure says how many
// values it has drawn, and there is colour on the screen where it stands.
func checkPage(t *testing.T, page string, figures ...string) {
	t.Helper()
	dom := string(show(t, page, "--dump-dom"))
	drawn := map[string]int{}
	for _, m := range points.FindAllStringSubmatch(dom, -1) {
		n, err := strconv.Atoi(m[2])
		if err != nil {
			t.Fatal(err)
		}
		drawn[m[1]] = n
	}
	for _, id := range figures {
		if drawn[id] < 2 {
			t.Errorf("figure %s shows %d values", id, drawn[id])
		}
	}
	if !strings.Contains(dom, `data-plots="`+strconv.Itoa(len(drawn))+`"`) || !strings.Contains(dom, "<canvas") {
		t.Errorf("%d figures are drawn, the page says otherwise", len(drawn))
	}
	if outside := regexp.MustCompile(`(src|href)="?(https?:|//)`).FindString(dom); outside != "" {
		t.Errorf("the page loads from elsewhere: %s", outside)
	}
	picture := filepath.Join(t.TempDir(), "page.png")
	show(t, page, "--screenshot="+picture, "--window-size=1200,4000")
	if coloured := colours(t, picture); coloured < 500 {
		t.Errorf("only %d pixels of the page are blue like a curve", coloured)
	}
}

// colours counts the pixels of the first curve's colour.
func colours(t *testing.T, path string) (n int) {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	picture, err := png.Decode(f)
	if err != nil {
		t.Fatal(err)
	}
	for y := range picture.Bounds().Dy() {
		for x := range picture.Bounds().Dx() {
			if blue(picture, x, y) {
				n++
			}
		}
	}
	return n
}

func blue(picture image.Image, x, y int) bool {
	r, g, b, _ := picture.At(x, y).RGBA()
	return b>>8 > 150 && r>>8 < 90 && g>>8 < 150
}

func TestThePageOfSeveralRuns(t *testing.T) {
	name := filepath.Join(t.TempDir(), "compare")
	args := []string{"compare", "--rounds", "1", "--quiet", "--warmup", "0s", "--duration", "2100ms", "--rate", "5000", "--arrivals", "poisson", "--out", name, naiveServer(), naiveServer()}
	if exit, out, errors := call(t, args...); exit != exitOK {
		t.Fatalf("exit %d\n%s%s", exit, out, errors)
	}
	checkPage(t, name+".html", "rate", "latency", "outstanding", "spectrum", "cpu")
}

// `make load` ends within a minute with a summary, JSON and a page. The race
// detector would see nothing of the programs that make builds, so the test is
// left to the run without it.
func TestMakeLoad(t *testing.T) {
	if underRace {
		t.Skip("tested by the run without the race detector")
	}
	root, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("make", "-C", root, "build").CombinedOutput(); err != nil {
		t.Fatalf("make build: %v\n%s", err, out)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	out, err := exec.CommandContext(ctx, "make", "-C", root, "load").CombinedOutput()
	if err != nil {
		t.Fatalf("make load: %v\n%s", err, out)
	}
	for _, want := range []string{"events/s", "p99.99", "ok=false", "client: ", "server: "} {
		if !strings.Contains(string(out), want) {
			t.Errorf("the summary lacks %q:\n%s", want, out)
		}
	}
	d := readDocument(t, filepath.Join(root, "bin", "load.json"))
	if d.Ledger.OK == 0 || d.Ledger.Failed() > 0 || d.ServerCost == nil || len(d.Series) < 10 {
		t.Errorf("%+v", d.Ledger)
	}
	checkPage(t, filepath.Join(root, "bin", "load.html"), "rate", "latency", "outstanding", "drain", "spectrum", "cpu")
}
