package index

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"

	"darboux/handlers/riemann"
	"darboux/handlers/riemann/pb"
)

// memoryFiles is a file system in memory, in which every call can fail.
type memoryFiles struct {
	files map[string][]byte
	// fail is asked before each call, with its name; an error is the outcome.
	fail func(call string) error
	// left is how many bytes may still be written; less than 0: any number.
	left int
}

func newMemoryFiles() *memoryFiles {
	return &memoryFiles{files: map[string][]byte{}, left: -1, fail: func(string) error { return nil }}
}

type memoryFile struct {
	fs   *memoryFiles
	name string
	at   int
}

func (m *memoryFiles) Create(path string) (File, error) {
	if err := m.fail("create"); err != nil {
		return nil, err
	}
	m.files[path] = nil
	return &memoryFile{m, path, 0}, nil
}

func (m *memoryFiles) Open(path string) (File, error) {
	if err := m.fail("open"); err != nil {
		return nil, err
	}
	if _, ok := m.files[path]; !ok {
		return nil, fs.ErrNotExist
	}
	return &memoryFile{m, path, 0}, nil
}

func (m *memoryFiles) Rename(from, to string) error {
	if err := m.fail("rename"); err != nil {
		return err
	}
	m.files[to] = m.files[from]
	delete(m.files, from)
	return nil
}

func (m *memoryFiles) Remove(path string) error {
	delete(m.files, path)
	return m.fail("remove")
}

func (m *memoryFiles) SyncDir(string) error { return m.fail("sync of the directory") }

func (f *memoryFile) Write(b []byte) (int, error) {
	if err := f.fs.fail("write"); err != nil {
		return 0, err
	}
	if f.fs.left >= 0 && len(b) > f.fs.left {
		n := f.fs.left
		f.fs.files[f.name] = append(f.fs.files[f.name], b[:n]...)
		f.fs.left = 0
		return n, syscall.ENOSPC
	}
	if f.fs.left >= 0 {
		f.fs.left -= len(b)
	}
	f.fs.files[f.name] = append(f.fs.files[f.name], b...)
	return len(b), nil
}

func (f *memoryFile) Read(b []byte) (int, error) {
	if err := f.fs.fail("read"); err != nil {
		return 0, err
	}
	if f.at == len(f.fs.files[f.name]) {
		return 0, io.EOF
	}
	n := copy(b, f.fs.files[f.name][f.at:])
	f.at += n
	return n, nil
}

func (f *memoryFile) Sync() error { return f.fs.fail("sync") }

func (f *memoryFile) Size() (int64, error) {
	return int64(len(f.fs.files[f.name])), f.fs.fail("size")
}

func (f *memoryFile) Close() error { return f.fs.fail("close") }

const snapshotPath = "dir/index.snapshot"

// written is the snapshot of a store.
func written(t fataler, s Store) []byte {
	files := newMemoryFiles()
	snapshot := Snapshot{Path: snapshotPath, Files: files}
	if _, err := snapshot.Write(context.Background(), s); err != nil {
		t.Fatal(err)
	}
	return files.files[snapshotPath]
}

// load loads the bytes of a snapshot.
func load(b []byte, s Store, now int64) (Loaded, error) {
	files := newMemoryFiles()
	files.files[snapshotPath] = b
	snapshot := Snapshot{Path: snapshotPath, Files: files}
	return snapshot.Load(context.Background(), s, now)
}

// snapshotKeepsAll writes the index, loads it again and compares what comes with
// the model: to queries it is the same, and it expires at the same time.
func (p *pair) snapshotKeepsAll(t *rapid.T) {
	b := written(t, p.real)
	loaded, model := New(p.real.cfg), NewMap(p.model.cfg)
	defer loaded.Close()
	for _, s := range []Store{loaded, model} {
		n, err := load(b, s, p.now)
		if err != nil || n.Refused != 0 || n.Events != p.model.Stats().Entries {
			t.Fatalf("loaded %+v (%v), want %d events", n, err, p.model.Stats().Entries)
		}
	}
	if err := loaded.check(); err != nil {
		t.Fatalf("an invariant does not hold after loading: %v", err)
	}
	for i, q := range someQueries {
		if got, want := contents(loaded, q, 0, 0), contents(p.model, q, 0, 0); !slices.Equal(got, want) {
			t.Fatalf("query %d after loading finds %q\nwant %q", i, got, want)
		}
	}
	later := p.now + rapid.Int64Range(0, 20_000_000).Draw(t, "later")
	if got, want := loaded.Expire(later), model.Expire(later); got != want {
		t.Fatalf("%d entries expired after loading, want %d", got, want)
	}
	if got, want := contents(loaded, matchAll{}, 0, 0), contents(model, matchAll{}, 0, 0); !slices.Equal(got, want) {
		t.Fatalf("left is %q\nwant %q", got, want)
	}
}

// smallStore has a few entries, one of them large.
func smallStore(t testing.TB) *Index {
	x := newIndex(t, Config{Shards: 4, DefaultTTL: 60})
	for i := range 40 {
		r := riemann.Record{Host: fmt.Sprint("h", i), Service: "s", State: "ok", Tags: []string{"x"}}
		apply(t, x, r)
	}
	apply(t, x, riemann.Record{Host: "large", Description: strings.Repeat("d", 3<<19)})
	return x
}

// apply gives one event to a store, which must take it.
func apply(t testing.TB, s Store, r riemann.Record) {
	t.Helper()
	if !offer(t, s, r) {
		t.Fatal("an event was refused: ", s.WhyRefused())
	}
}

// offer gives one event to a store and reports whether it took it.
func offer(t testing.TB, s Store, r riemann.Record) bool {
	t.Helper()
	return s.Apply(viewed(t, r.AppendEvent(nil)), feedMicros, make([]bool, 1)) == 0
}

// framesOf cuts a snapshot into the bodies of its frames.
func framesOf(t testing.TB, b []byte) (bodies [][]byte) {
	t.Helper()
	for len(b) > 0 {
		n := riemann.HeaderSize + int(binary.BigEndian.Uint32(b))
		bodies = append(bodies, b[riemann.HeaderSize:n])
		b = b[n:]
	}
	return bodies
}

// Any server can read it: to protobuf it is Msgs with the events as replies have
// them, and fields that it doesn't know.
func TestSnapshotIsOrdinaryMsgs(t *testing.T) {
	x := smallStore(t)
	var got []string
	for i, body := range framesOf(t, written(t, x)) {
		var m pb.Msg
		if err := proto.Unmarshal(body, &m); err != nil {
			t.Fatalf("frame %d: %v", i, err)
		}
		if len(body)+riemann.HeaderSize > frameLimit && len(m.Events) != 1 {
			t.Errorf("frame %d has %d bytes and %d events", i, len(body), len(m.Events))
		}
		for _, e := range m.Events {
			if e.Time == nil || e.TimeMicros == nil || e.Ttl == nil {
				t.Errorf("frame %d: an event lacks a time or a ttl: %v", i, e)
			}
			got = append(got, e.GetHost())
		}
	}
	slices.Sort(got)
	if want := found(t, x, matchAll{}, 0); !slices.Equal(got, want) {
		t.Errorf("the snapshot has hosts %q, want %q", got, want)
	}
}

func TestSnapshotOfNothing(t *testing.T) {
	x := newIndex(t, Config{})
	if n, err := load(written(t, x), x, 0); err != nil || n != (Loaded{}) {
		t.Errorf("loaded %+v (%v), want nothing", n, err)
	}
}

// frameAt is the offset of the frame that the byte at i belongs to, and how many
// events are in the frames before it.
func frameAt(t testing.TB, b []byte, i int) (offset, events int) {
	for _, body := range framesOf(t, b) {
		next := offset + riemann.HeaderSize + len(body)
		if i < next {
			return offset, events
		}
		var m riemann.Msg
		if err := m.Parse(body, 0); err != nil {
			t.Fatal(err)
		}
		offset, events = next, events+m.Count
	}
	return offset, events
}

// severalFrames is a snapshot of three entries in two frames, and the first and
// the last frame.
func severalFrames(t testing.TB) []byte {
	t.Helper()
	m := NewMap(Config{Shards: 1, DefaultTTL: 60})
	for _, host := range []string{"a", "b", "c"} {
		apply(t, m, riemann.Record{Host: host, State: "ok", Tags: []string{"x"}})
	}
	files := newMemoryFiles()
	snapshot := Snapshot{Path: snapshotPath, Files: files, limit: 100}
	if _, err := snapshot.Write(context.Background(), m); err != nil {
		t.Fatal(err)
	}
	b := files.files[snapshotPath]
	if n := len(framesOf(t, b)); n != 4 {
		t.Fatalf("there are %d frames, not 4", n)
	}
	return b
}

func TestSnapshotCutAnywhere(t *testing.T) {
	whole := severalFrames(t)
	for n := range len(whole) {
		m := NewMap(Config{})
		loaded, err := load(whole[:n], m, feedMicros)
		var d *Damage
		if !errors.As(err, &d) {
			t.Fatalf("cut at byte %d: %v", n, err)
		}
		offset, events := frameAt(t, whole, n)
		if int(d.Offset) != offset || int(loaded.Events) != events || m.Stats().Entries != int64(events) {
			t.Fatalf("cut at byte %d: %v, and %d events loaded; want offset %d and %d events", n, d, loaded.Events, offset, events)
		}
	}
	if loaded, err := load(whole, NewMap(Config{}), feedMicros); err != nil || loaded.Events != 3 {
		t.Fatalf("whole: %d events, %v", loaded.Events, err)
	}
}

func TestSnapshotWithAnyBitFlipped(t *testing.T) {
	whole := severalFrames(t)
	for i := range len(whole) * 8 {
		b := bytes.Clone(whole)
		b[i/8] ^= 1 << (i % 8)
		m := NewMap(Config{})
		loaded, err := load(b, m, feedMicros)
		var d *Damage
		if !errors.As(err, &d) {
			t.Fatalf("bit %d flipped: %v", i, err)
		}
		offset, events := frameAt(t, whole, i/8)
		if int(d.Offset) != offset || int(loaded.Events) != events {
			t.Fatalf("bit %d flipped: %v, and %d events loaded; want offset %d and %d events", i, d, loaded.Events, offset, events)
		}
	}
}

// One frame with a wrong checksum costs that frame alone when a snapshot is salvaged; where
// the lengths lead nowhere, what is behind is lost.
func TestSnapshotSalvagedAroundAFrame(t *testing.T) {
	whole := severalFrames(t)
	path := filepath.Join(t.TempDir(), "x")
	salvage := func(b []byte) (Loaded, *Damage) {
		t.Helper()
		if err := os.WriteFile(path, b, 0o600); err != nil {
			t.Fatal(err)
		}
		m := NewMap(Config{})
		loaded, err := (&Snapshot{Path: path, Salvage: true}).Load(t.Context(), m, feedMicros)
		var d *Damage
		if err != nil && !errors.As(err, &d) {
			t.Fatal(err)
		}
		if m.Stats().Entries != loaded.Events {
			t.Errorf("%d entries of %d events", m.Stats().Entries, loaded.Events)
		}
		return loaded, d
	}
	var frames []int // where they begin
	for at := 0; at < len(whole); at += 4 + int(binary.BigEndian.Uint32(whole[at:])) {
		frames = append(frames, at)
	}
	for i, at := range frames[1 : len(frames)-1] {
		_, before := frameAt(t, whole, at)
		_, behind := frameAt(t, whole, frames[i+2])
		b := bytes.Clone(whole)
		b[at+10] ^= 1
		if got, d := salvage(b); int(got.Events) != 3-(behind-before) || got.LeftOut != 1 || d == nil || int(d.Offset) != at {
			t.Errorf("frame %d is damaged: %+v, %v", i+1, got, d)
		}
		b[at+1] ^= 0x40 // its length leads out of the file
		if got, d := salvage(b); int(got.Events) != before || got.LeftOut != 0 || d == nil || int(d.Offset) != at {
			t.Errorf("the length of frame %d is damaged: %+v, %v", i+1, got, d)
		}
	}
	if got, d := salvage(whole); got.Events != 3 || d != nil {
		t.Errorf("whole: %+v, %v", got, d)
	}
}

// Frames are read into the memory of others that are done with: nothing of those is left.
func TestSnapshotOfManyFrames(t *testing.T) {
	x := newIndex(t, Config{DefaultTTL: 60})
	for i := range 3000 {
		apply(t, x, riemann.Record{Host: fmt.Sprint("h", i), Description: strings.Repeat("d", i%700)})
	}
	files := newMemoryFiles()
	snapshot := Snapshot{Path: snapshotPath, Files: files, limit: 5000}
	if _, err := snapshot.Write(context.Background(), x); err != nil {
		t.Fatal(err)
	}
	y := newIndex(t, Config{})
	if loaded, err := snapshot.Load(context.Background(), y, feedMicros); err != nil || loaded.Events != 3000 {
		t.Fatalf("loaded %+v, %v", loaded, err)
	}
	if got, want := contents(y, matchAll{}, 0, 0), contents(x, matchAll{}, 0, 0); !slices.Equal(got, want) {
		t.Error("what was loaded is not what was written")
	}
}

// The checksums may be right and a frame still not be one that a snapshot has.
func TestSnapshotOfWrongFrames(t *testing.T) {
	bodies := framesOf(t, severalFrames(t))
	for i := range bodies {
		bodies[i] = bodies[i][:len(bodies[i])-sumSize]
	}
	event := bodies[1]
	other := protowire.AppendString(protowire.AppendTag(nil, 99, protowire.BytesType), "other")
	for name, row := range map[string]struct {
		frame  []byte
		reason string
	}{
		"another field behind an event":  {slices.Concat(event, other), "another field"},
		"an event of another wire type":  {protowire.AppendVarint(protowire.AppendTag(nil, eventsNumber, protowire.VarintType), 1), "another field"},
		"an event that lacks what it is": {riemann.AppendEventField(nil, []byte{}), "lacks the field"},
		"half an event":                  {event[:len(event)-1], "EOF"},
		"the beginning of an event":      {event[:9], "does not begin with a field"},
		"one and a half events":          {slices.Concat(event, event[:3]), "EOF"},
		"nothing":                        {nil, "does not begin with a field"},
		"another field":                  {other, "no events"},
	} {
		files := newMemoryFiles()
		w := snapshotWriter{limit: frameLimit}
		w.file, _ = files.Create(snapshotPath)
		for _, body := range [][]byte{bodies[0], event, row.frame} {
			if err := w.writeFrame(nil, body); err != nil {
				t.Fatal(err)
			}
		}
		m := NewMap(Config{})
		_, err := load(files.files[snapshotPath], m, feedMicros)
		var d *Damage
		if !errors.As(err, &d) || !strings.Contains(d.Reason, row.reason) || m.Stats().Entries == 0 {
			t.Errorf("%s: %v, and %d entries loaded", name, err, m.Stats().Entries)
		}
	}
}

// A frame that is taken out or comes twice leaves all others as they are, but the
// checksums tell.
func TestSnapshotWithFramesMoved(t *testing.T) {
	whole := severalFrames(t)
	var frames [][]byte
	for b := whole; len(b) > 0; {
		n := riemann.HeaderSize + int(binary.BigEndian.Uint32(b))
		frames = append(frames, b[:n])
		b = b[n:]
	}
	for _, order := range [][]int{{0, 1, 3}, {0, 2, 1, 3}, {0, 1, 1, 2, 3}, {1, 2, 3}, {0, 3}, {0, 1, 2, 3, 3}, {3}, {0, 0, 1, 2, 3}} {
		var b []byte
		for _, i := range order {
			b = append(b, frames[i]...)
		}
		_, err := load(b, NewMap(Config{}), feedMicros)
		var d *Damage
		if !errors.As(err, &d) {
			t.Errorf("frames %v: %v", order, err)
		}
	}
}

func TestSnapshotOfAnotherKind(t *testing.T) {
	for name, b := range map[string]string{
		"nothing":        "",
		"text":           "GET / HTTP/1.1\r\n",
		"a Msg":          "\x00\x00\x00\x02\x10\x01",
		"a huge length":  "\xff\xff\xff\xff12345",
		"an empty frame": "\x00\x00\x00\x00",
	} {
		_, err := load([]byte(b), NewMap(Config{}), 0)
		var d *Damage
		if !errors.As(err, &d) || d.Offset != 0 || d.Reason == "" {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestSnapshotMissing(t *testing.T) {
	s := Snapshot{Path: filepath.Join(t.TempDir(), "none")}
	if _, err := s.Load(context.Background(), NewMap(Config{}), 0); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("loading what is not there: %v", err)
	}
}

// Whatever fails, the last good snapshot stays, nothing else is left behind, and
// the error says what it was.
func TestSnapshotFails(t *testing.T) {
	x := smallStore(t)
	files := newMemoryFiles()
	snapshot := Snapshot{Path: snapshotPath, Files: files}
	if _, err := snapshot.Write(context.Background(), x); err != nil {
		t.Fatal(err)
	}
	good := bytes.Clone(files.files[snapshotPath])
	apply(t, x, riemann.Record{Host: "one more"})
	broken := errors.New("broken")
	for _, call := range []string{"create", "write", "sync", "close", "rename"} {
		files.fail = func(c string) error {
			if c == call {
				return broken
			}
			return nil
		}
		if _, err := snapshot.Write(context.Background(), x); !errors.Is(err, broken) || !strings.Contains(err.Error(), snapshotPath) {
			t.Errorf("failed %s: %v", call, err)
		}
		if len(files.files) != 1 || !bytes.Equal(files.files[snapshotPath], good) {
			t.Errorf("failed %s: the last good snapshot is gone, or not alone", call)
		}
	}
	files.fail = func(string) error { return nil }
	for n := 0; n < len(good); n += len(good)/50 + 1 {
		files.left = n
		if _, err := snapshot.Write(context.Background(), x); !errors.Is(err, syscall.ENOSPC) {
			t.Errorf("disk full after %d bytes: %v", n, err)
		}
		if len(files.files) != 1 || !bytes.Equal(files.files[snapshotPath], good) {
			t.Errorf("disk full after %d bytes: the last good snapshot is gone, or not alone", n)
		}
	}
	files.left = -1
	if _, err := snapshot.Write(context.Background(), x); err != nil {
		t.Errorf("when all is well again: %v", err)
	}
}

func TestSnapshotEndsWithItsContext(t *testing.T) {
	x := smallStore(t)
	files := newMemoryFiles()
	snapshot := Snapshot{Path: snapshotPath, Files: files}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := snapshot.Write(ctx, x); !errors.Is(err, context.Canceled) || len(files.files) != 0 {
		t.Errorf("writing with a cancelled context: %v", err)
	}
	files.files[snapshotPath] = written(t, x)
	if _, err := snapshot.Load(ctx, NewMap(Config{}), 0); !errors.Is(err, context.Canceled) {
		t.Errorf("loading with a cancelled context: %v", err)
	}
}

// On a real file system: the permissions are the owner's alone, and a temporary
// file left behind does no harm.
func TestSnapshotOnDisk(t *testing.T) {
	x := smallStore(t)
	snapshot := Snapshot{Path: filepath.Join(t.TempDir(), "index.snapshot"), Rest: 1}
	if err := os.WriteFile(snapshot.Path+".tmp", []byte("left behind"), 0o600); err != nil {
		t.Fatal(err)
	}
	w, err := snapshot.Write(context.Background(), x)
	if err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(snapshot.Path)
	if err != nil || info.Size() != w.Bytes || info.Mode().Perm() != 0o600 {
		t.Errorf("the file is %v (%v), written were %+v", info, err, w)
	}
	if names, _ := os.ReadDir(filepath.Dir(snapshot.Path)); len(names) != 1 {
		t.Errorf("there are %d files, want one", len(names))
	}
	y := newIndex(t, Config{DefaultTTL: 60})
	loaded, err := snapshot.Load(context.Background(), y, feedMicros)
	if err != nil || loaded.Events != w.Events {
		t.Errorf("loaded %+v (%v), written were %+v", loaded, err, w)
	}
}

// What the store has no room for is counted, and the rest is there.
func TestSnapshotLargerThanTheLimit(t *testing.T) {
	b := written(t, smallStore(t))
	y := newIndex(t, Config{Entries: Limit{"--index-entries", 10}})
	loaded, err := load(b, y, feedMicros)
	if err != nil || loaded != (Loaded{Events: 10, Refused: 31}) {
		t.Errorf("loaded %+v, %v", loaded, err)
	}
}

// Written while others insert, overwrite and delete: what was there all the while
// is in it, whole.
func TestSnapshotDuringIngestion(t *testing.T) {
	x := newIndex(t, Config{Shards: 4, DefaultTTL: 60})
	const stay = 500
	for i := range stay {
		apply(t, x, riemann.Record{Host: fmt.Sprint("stays-", i), State: "ok", Description: "0"})
	}
	stop := make(chan struct{})
	var others sync.WaitGroup
	for g := range 2 {
		others.Go(func() {
			for i := 0; ; i++ {
				select {
				case <-stop:
					return
				default:
				}
				apply(t, x, riemann.Record{Host: fmt.Sprint("stays-", i%stay), State: "ok", Description: strings.Repeat("d", i%300)})
				state := []string{"ok", "expired"}[i/100%2]
				apply(t, x, riemann.Record{Host: fmt.Sprintf("comes-%d-%d", g, i%100), State: state})
			}
		})
	}
	for range 20 {
		m := NewMap(Config{})
		if _, err := load(written(t, x), m, feedMicros); err != nil {
			t.Fatal(err)
		}
		stays := matchFunc(func(e *riemann.Event) bool { return bytes.HasPrefix(e.HostBytes(), []byte("stays-")) })
		if n := len(contents(m, stays, 0, 0)); n != stay {
			t.Errorf("%d of %d entries are in the snapshot", n, stay)
		}
	}
	close(stop)
	others.Wait()
}

func FuzzLoad(f *testing.F) {
	whole := severalFrames(f)
	f.Add(whole)
	f.Add(whole[:len(whole)-5])
	f.Add([]byte{})
	f.Add([]byte("\x00\x00\x00\x02\x10\x01"))
	x := New(Config{DefaultTTL: 60})
	f.Add(written(f, x))
	x.Close()
	f.Fuzz(func(t *testing.T, b []byte) {
		m := NewMap(Config{Shards: 1})
		loaded, err := load(b, m, feedMicros)
		var d *Damage
		switch {
		case err == nil:
			if n := m.Stats().Entries; n > loaded.Events {
				t.Errorf("%d events loaded, but %d entries", loaded.Events, n)
			}
			again := NewMap(Config{Shards: 1})
			if _, err := load(written(t, m), again, feedMicros); err != nil {
				t.Fatal(err)
			}
			if got, want := contents(again, matchAll{}, 0, 0), contents(m, matchAll{}, 0, 0); !slices.Equal(got, want) {
				t.Errorf("written and loaded once more: %q\nwant %q", got, want)
			}
		case !errors.As(err, &d):
			t.Errorf("not a damage: %v", err)
		case d.Offset < 0 || d.Offset > int64(len(b)):
			t.Errorf("the damage is outside of the file: %v", d)
		}
	})
}

// The checksums keep most of what a fuzzer makes from being looked at: here they
// are right. The input is bodies of frames, each behind two bytes of length.
func FuzzLoadFrames(f *testing.F) {
	var bodies []byte
	for _, body := range framesOf(f, severalFrames(f)) {
		body = body[:len(body)-sumSize]
		bodies = binary.BigEndian.AppendUint16(bodies, uint16(len(body)))
		bodies = append(bodies, body...)
	}
	f.Add(bodies)
	f.Fuzz(func(t *testing.T, b []byte) {
		files := newMemoryFiles()
		w := snapshotWriter{limit: frameLimit}
		w.file, _ = files.Create(snapshotPath)
		for len(b) >= 2 {
			n := min(int(binary.BigEndian.Uint16(b)), len(b)-2)
			if err := w.writeFrame(nil, b[2:2+n]); err != nil {
				t.Fatal(err)
			}
			b = b[2+n:]
		}
		x := New(Config{Shards: 1})
		defer x.Close()
		_, err := load(files.files[snapshotPath], x, feedMicros)
		var d *Damage
		if err != nil && !errors.As(err, &d) {
			t.Errorf("not a damage: %v", err)
		}
		if err := x.check(); err != nil {
			t.Errorf("an invariant does not hold: %v", err)
		}
	})
}
