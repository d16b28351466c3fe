package frame

import (
	"bytes"
	"encoding/binary"
	"errors"
	"reflect"
	"testing"

	"pgregory.net/rapid"
)

var testLimit = Limit{Flag: "--max-frame", Value: 1000}

func prefixed(body []byte) []byte {
	return append(binary.BigEndian.AppendUint32(nil, uint32(len(body))), body...)
}

func TestCutLengthPrefixed(t *testing.T) {
	a, b := prefixed([]byte("abc")), prefixed(nil)
	for _, tc := range []struct {
		name string
		in   []byte
		room int
		want Cut
	}{
		{"nothing", nil, 100, Cut{}},
		{"half a header", []byte{0, 0, 0}, 100, Cut{}},
		{"a header alone", []byte{0, 0, 0, 9}, 100, Cut{Need: 13}},
		{"an empty frame", b, 100, Cut{Bytes: 4, Frames: 1}},
		{"two frames", append(bytes.Clone(a), b...), 100, Cut{Bytes: 11, Frames: 2}},
		{"a frame and half of one", append(bytes.Clone(b), a[:5]...), 100, Cut{Bytes: 4, Frames: 1, Need: 7}},
		{"exactly at the limit", prefixed(make([]byte, 1000)), 100, Cut{Bytes: 1004, Frames: 1}},
		{"the first frame is taken whatever the room", append(bytes.Clone(a), a...), 3, Cut{Bytes: 7, Frames: 1}},
		{"no further one over the room", append(bytes.Clone(a), a...), 13, Cut{Bytes: 7, Frames: 1}},
		{"as many as the room", append(bytes.Clone(a), a...), 14, Cut{Bytes: 14, Frames: 2}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, err := CutLengthPrefixed(tc.in, testLimit, tc.room, false, nil)
			if err != nil || !reflect.DeepEqual(got, tc.want) {
				t.Errorf("got %+v, %v; want %+v", got, err, tc.want)
			}
		})
	}
}

func TestCutRefusesOnTheHeaderAlone(t *testing.T) {
	for _, header := range []string{"\x00\x00\x03\xe9", "\xff\xff\xff\xff", "\x80\x00\x00\x00", "GET ", "\x16\x03\x01\x02"} {
		whole := prefixed([]byte("abc"))
		got, err := CutLengthPrefixed(append(bytes.Clone(whole), header...), testLimit, 100, false, nil)
		var long *TooLongError
		if !errors.As(err, &long) {
			t.Fatalf("%q: error %v; want a *TooLongError", header, err)
		}
		if got.Bytes != len(whole) || got.Frames != 1 || got.Need != 0 {
			t.Errorf("%q: got %+v; the frame in front must still count", header, got)
		}
		if want := binary.BigEndian.Uint32([]byte(header)); long.Length != want || string(long.Head) != header {
			t.Errorf("%q: got length %d, head %q; want %d and the header", header, long.Length, long.Head, want)
		}
		if text := err.Error(); !bytes.Contains([]byte(text), []byte("1000 bytes (--max-frame)")) {
			t.Errorf("%q: error %q names no limit and flag", header, text)
		}
	}
}

// A stream cut at any bytes gives the same frames, in order.
func TestCutAnywhere(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		bodies := rapid.SliceOf(rapid.SliceOfN(rapid.Byte(), 0, 300)).Draw(t, "bodies")
		room := rapid.IntRange(1, 2000).Draw(t, "room")
		var stream []byte
		for _, body := range bodies {
			stream = append(stream, prefixed(body)...)
		}
		var got [][]byte
		var pending []byte
		for len(stream) > 0 {
			n := rapid.IntRange(1, len(stream)).Draw(t, "read")
			pending, stream = append(pending, stream[:n]...), stream[n:]
			pending = takeAll(t, pending, room, &got)
		}
		if len(pending) > 0 || len(got) != len(bodies) {
			t.Fatalf("%d frames and %d bytes left; want %d frames", len(got), len(pending), len(bodies))
		}
		for i := range got {
			if !bytes.Equal(got[i], bodies[i]) {
				t.Fatalf("frame %d is %q; want %q", i, got[i], bodies[i])
			}
		}
	})
}

func takeAll(t *rapid.T, pending []byte, room int, got *[][]byte) []byte {
	for {
		cut, err := CutLengthPrefixed(pending, testLimit, room, false, nil)
		if err != nil {
			t.Fatal(err)
		}
		if cut.Frames == 0 {
			if cut.Need > 0 && cut.Need <= len(pending) {
				t.Fatalf("a frame of %d bytes is said to need more than the %d at hand", cut.Need, len(pending))
			}
			return pending
		}
		if cut.Frames > 1 && cut.Bytes > room {
			t.Fatalf("%d frames of %d bytes are over the room of %d", cut.Frames, cut.Bytes, room)
		}
		rest := pending[:cut.Bytes]
		for range cut.Frames {
			var body []byte
			body, rest = Next(rest)
			*got = append(*got, bytes.Clone(body))
		}
		if len(rest) > 0 {
			t.Fatalf("%d bytes are left of a cut", len(rest))
		}
		pending = pending[cut.Bytes:]
	}
}

func FuzzCut(f *testing.F) {
	f.Add([]byte{0, 0, 0, 1, 7, 0, 0, 0, 0}, 10)
	f.Add([]byte("GET / HTTP/1.1\r\n\r\n"), 1)
	f.Add([]byte{0xff, 0xff, 0xff, 0xff}, 0)
	f.Fuzz(func(t *testing.T, b []byte, room int) {
		cut, _ := CutLengthPrefixed(b, testLimit, room, false, nil)
		if cut.Bytes > len(b) || cut.Frames < 0 || cut.Bytes < HeaderLen*cut.Frames {
			t.Fatalf("%+v of %d bytes", cut, len(b))
		}
		rest := b[:cut.Bytes]
		for range cut.Frames {
			_, rest = Next(rest)
		}
		if len(rest) > 0 {
			t.Fatalf("the frames leave %d bytes of the cut", len(rest))
		}
	})
}
