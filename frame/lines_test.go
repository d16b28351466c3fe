package frame

import (
	"bytes"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

var lineLimit = Limit{Flag: "--max-line", Value: 8}

func TestCutLines(t *testing.T) {
	skipped := Progress{State: skipping}
	for _, tc := range []struct {
		name   string
		in     string
		ended  bool
		before Progress
		want   Cut
		after  Progress
	}{
		{"nothing", "", false, Progress{}, Cut{}, Progress{}},
		{"nothing at the end", "", true, Progress{}, Cut{}, Progress{}},
		{"half a line", "abc", false, Progress{}, Cut{Need: 8}, Progress{At: 3}},
		{"a last line without newline", "abc", true, Progress{At: 3}, Cut{Bytes: 3, Frames: 1}, Progress{At: 3}},
		{"a line", "abc\n", false, Progress{At: 3}, Cut{Bytes: 4, Frames: 1}, Progress{At: 3}},
		{"an empty line", "\n", false, Progress{}, Cut{Bytes: 1, Frames: 1}, Progress{}},
		{"two lines and half of one", "a\n\r\nb", false, Progress{}, Cut{Bytes: 4, Frames: 2, Need: 8, Behind: Progress{At: 1}}, Progress{}},
		{"the same at the end", "a\n\r\nb", true, Progress{}, Cut{Bytes: 5, Frames: 3}, Progress{}},
		{"as long as the limit", "1234567\n", false, Progress{}, Cut{Bytes: 8, Frames: 1}, Progress{}},
		{"one byte short of too long", "1234567", false, Progress{}, Cut{Need: 8}, Progress{At: 7}},
		{"too long", "12345678", false, Progress{At: 7}, Cut{Bytes: 8, Frames: 1, Behind: skipped}, Progress{At: 7}},
		{"too long but whole", "123456789\n", false, Progress{}, Cut{Bytes: 10, Frames: 1}, Progress{}},
		{"much too long", "123456789", false, Progress{}, Cut{Bytes: 8, Frames: 1, Behind: skipped}, Progress{}},
		{"skipping on", "abc", false, skipped, Cut{Skip: 3}, skipped},
		{"skipping at the end", "abc", true, skipped, Cut{Skip: 3}, skipped},
		{"skipping to the newline", "abc\n", false, skipped, Cut{Skip: 4}, Progress{}},
		{"a line behind what is skipped", "abc\nd\n", false, skipped, Cut{Skip: 4, Bytes: 2, Frames: 1}, Progress{}},
		{"half a line behind what is skipped", "abc\nd", false, skipped, Cut{Skip: 4, Need: 8}, Progress{At: 1}},
		{"more lines than there is room", "1\n2\n3\n4\n5\n6\n", false, Progress{}, Cut{Bytes: 10, Frames: 5}, Progress{}},
		{"the room ends within a line", "1\n2\n3\n4567\n8\n", false, Progress{}, Cut{Bytes: 6, Frames: 3, Behind: Progress{At: 4}}, Progress{}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			p := tc.before
			got, err := CutLines([]byte(tc.in), lineLimit, 10, tc.ended, &p)
			if err != nil || !reflect.DeepEqual(got, tc.want) || p != tc.after {
				t.Errorf("got %+v, %v, progress %+v; want %+v, progress %+v", got, err, p, tc.want, tc.after)
			}
		})
	}
}

// lineReader is a loop in small: it holds what is unread and takes cuts of it.
type lineReader struct {
	unread   []byte
	progress Progress
	got      []string
}

// take takes all frames that are whole. Each cut is made twice, because a loop that
// waits for a turn looks at the same bytes again.
func (r *lineReader) take(t interface{ Fatalf(string, ...any) }, room int, ended bool) {
	for {
		first, _ := CutLines(r.unread, lineLimit, room, ended, &r.progress)
		r.unread = r.unread[first.Skip:]
		cut, err := CutLines(r.unread, lineLimit, room, ended, &r.progress)
		first.Skip = 0
		if err != nil || r.progress.State != skipping && !reflect.DeepEqual(first, cut) {
			t.Fatalf("the same bytes were cut as %+v, then as %+v, %v", first, cut, err)
		}
		if cut.Frames == 0 {
			return
		}
		frames := r.unread[:cut.Bytes]
		for n := range cut.Frames {
			var line []byte
			line, frames = NextLine(frames)
			if len(line) >= lineLimit.Value {
				line = fmt.Appendf(nil, "too long: %s", line[:lineLimit.Value])
				if n < cut.Frames-1 && len(frames) == 0 {
					t.Fatalf("the head of a long line is not the last frame of its cut")
				}
			}
			r.got = append(r.got, string(line))
		}
		if len(frames) > 0 {
			t.Fatalf("%d frames leave %q of a cut", cut.Frames, frames)
		}
		r.unread, r.progress = r.unread[cut.Bytes:], cut.Behind
	}
}

// wantLines is what any cut of a stream must bring.
func wantLines(stream string) []string {
	var want []string
	all := strings.Split(stream, "\n")
	if last := len(all) - 1; all[last] == "" {
		all = all[:last]
	}
	for _, line := range all {
		if len(line) >= lineLimit.Value {
			line = "too long: " + line[:lineLimit.Value]
		}
		want = append(want, line)
	}
	return want
}

func TestLinesCutAnywhere(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		stream := rapid.StringOfN(rapid.SampledFrom([]rune("a\n\r ")), 0, 200, -1).Draw(t, "stream")
		room := rapid.IntRange(1, 30).Draw(t, "room")
		r := &lineReader{}
		for rest := stream; len(rest) > 0; {
			n := rapid.IntRange(1, len(rest)).Draw(t, "read")
			r.unread, rest = append(r.unread, rest[:n]...), rest[n:]
			r.take(t, room, false)
		}
		r.take(t, room, true)
		if want := wantLines(stream); !reflect.DeepEqual(r.got, want) || len(r.unread) > 0 {
			t.Fatalf("got %q and %q left; want %q", r.got, r.unread, want)
		}
	})
}

func FuzzCutLines(f *testing.F) {
	f.Add([]byte("a 1\r\nb 2\n"), 3, 10)
	f.Add([]byte("0123456789\n\n7\nlast"), 5, 1)
	f.Add([]byte("\n\n\n"), 1, 1)
	f.Fuzz(func(t *testing.T, stream []byte, piece, room int) {
		r := &lineReader{}
		for rest := stream; len(rest) > 0; {
			n := min(len(rest), 1+piece&0xff)
			r.unread, rest = append(r.unread, rest[:n]...), rest[n:]
			r.take(t, 1+room&0xff, false)
		}
		r.take(t, 1+room&0xff, true)
		if want := wantLines(string(stream)); !reflect.DeepEqual(r.got, want) {
			t.Fatalf("got %q; want %q", r.got, want)
		}
	})
}

func TestCutLinesAllocatesNothing(t *testing.T) {
	stream := bytes.Repeat([]byte("a.b.c 1 2\n"), 1000)
	limit := Limit{Flag: "--max-line", Value: 4096}
	if n := testing.AllocsPerRun(100, func() {
		var p Progress
		if _, err := CutLines(stream, limit, 64<<10, false, &p); err != nil {
			t.Error(err)
		}
	}); n != 0 {
		t.Errorf("%v allocations a cut", n)
	}
}
