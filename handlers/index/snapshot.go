package index

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"path/filepath"
	"time"

	"google.golang.org/protobuf/encoding/protowire"

	"darboux/handlers/riemann"
)

// A snapshot is a file of frames: Msgs behind their length, as on a connection,
// so that it can be sent to any server that speaks Riemann's protocol. What else
// it says stands in fields that other servers don't know and pass over:
//
//	in the first Msg   snapshotMark: what file this is; this Msg has no events
//	in each event      keptMark: what riemann.Event.Kept said
//	in the last Msg    countMark: the number of events; this Msg has none
//	in each Msg, last  sumMark: a checksum of all before it in the file
const (
	sumMark      = protowire.Number(2047)
	keptMark     = protowire.Number(2047) // in an event
	countMark    = protowire.Number(2046)
	snapshotMark = protowire.Number(2045)

	snapshotName = "darboux snapshot 1"

	// frameLimit is the most bytes of a frame, its length included; an event that
	// is too large for that has a frame of its own.
	frameLimit = 1 << 20

	// sliceEntries is how many entries are taken from the store at a time.
	sliceEntries = 128
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Snapshot says where a store is written to and loaded from. It is used by one
// goroutine at a time.
type Snapshot struct {
	Path string
	// Files does the file system's part; nil is the system's.
	Files Files

	// Salvage lets Load pass over frames whose checksum is wrong, as long as their
	// lengths lead on.
	Salvage bool

	// Rest is how many times as long as a frame took Write rests after it, so
	// that those who use the store have the processor; 0 is not at all.
	Rest int

	limit int // of a frame's bytes; 0 is frameLimit
}

// Written is what was written.
type Written struct {
	Events, Bytes int64
}

// Write writes the entries of a store, while others go on using it: each as it is
// at some moment meanwhile, and each that is there all the while. It writes to
// a temporary file beside Path, which takes the place of the last one when all of
// it is on the disk: so whatever happens, there is a whole one. It ends early with
// ctx.
func (s *Snapshot) Write(ctx context.Context, store Store) (Written, error) {
	files, temporary := s.files(), s.Path+".tmp"
	written, err := s.writeFile(ctx, files, temporary, store)
	if err == nil {
		err = files.Rename(temporary, s.Path)
	}
	if err != nil {
		// The error says what is wrong; that the rest can't be removed either
		// adds nothing, and the next snapshot overwrites it.
		_ = files.Remove(temporary)
		return Written{}, fmt.Errorf("snapshot %s: %w", s.Path, err)
	}
	if err := files.SyncDir(filepath.Dir(s.Path)); err != nil {
		return written, fmt.Errorf("snapshot %s: %w", s.Path, err)
	}
	return written, nil
}

func (s *Snapshot) writeFile(ctx context.Context, files Files, path string, store Store) (Written, error) {
	file, err := files.Create(path)
	if err != nil {
		return Written{}, err
	}
	w := snapshotWriter{file: file, limit: cmp.Or(s.limit, frameLimit), rest: s.Rest}
	err = w.writeAll(ctx, store)
	if err == nil {
		err = file.Sync()
	}
	return w.written, errors.Join(err, file.Close())
}

// snapshotWriter makes frames of entries.
type snapshotWriter struct {
	file    File
	limit   int    // bytes of a frame
	rest    int    // see Snapshot.Rest
	events  []byte // fields of a Msg that are still to be written
	ends    []int  // where each ends
	frame   []byte
	sum     uint32 // of all frames so far
	written Written
}

func (w *snapshotWriter) writeAll(ctx context.Context, store Store) error {
	if err := w.writeFrame(nil, protowire.AppendString(protowire.AppendTag(nil, snapshotMark, protowire.BytesType), snapshotName)); err != nil {
		return err
	}
	last := time.Now()
	for cur := (Cursor{Slice: sliceEntries}); !cur.Done; {
		if err := ctx.Err(); err != nil {
			return err
		}
		store.Search(w, &cur, nil, 0)
		before := w.written.Bytes
		if err := w.writeFull(); err != nil {
			return err
		}
		if w.written.Bytes != before {
			w.pause(ctx, time.Since(last))
			last = time.Now()
		}
	}
	if len(w.events) > 0 {
		if err := w.writeFrame(w.events, nil); err != nil {
			return err
		}
	}
	return w.writeFrame(nil, protowire.AppendVarint(protowire.AppendTag(nil, countMark, protowire.VarintType), uint64(w.written.Events)))
}

// mostRest is the longest rest, so that a snapshot of millions comes to an end even
// where each frame takes long.
const mostRest = 20 * time.Millisecond

// pause rests after what took that long, or until ctx ends.
func (w *snapshotWriter) pause(ctx context.Context, took time.Duration) {
	if w.rest == 0 {
		return
	}
	rested := time.NewTimer(min(took*time.Duration(w.rest), mostRest))
	defer rested.Stop()
	select {
	case <-rested.C:
	case <-ctx.Done():
	}
}

// Match takes an event and says no: that is how entries come out of a store.
func (w *snapshotWriter) Match(e *riemann.Event) bool {
	kept := protowire.AppendVarint(protowire.AppendTag(w.frame[:0], keptMark, protowire.VarintType), uint64(e.Kept()))
	w.events = protowire.AppendTag(w.events, eventsNumber, protowire.BytesType)
	w.events = protowire.AppendVarint(w.events, uint64(len(e.Raw)+len(kept)))
	w.events = append(append(w.events, e.Raw...), kept...)
	w.ends = append(w.ends, len(w.events))
	w.written.Events++
	return false
}

// eventsNumber is the field number of events in a Msg.
const eventsNumber = 6

// sumSize is the size of the checksum's field.
const sumSize = 2 + 4

// writeFull writes frames as long as there are events for a full one.
func (w *snapshotWriter) writeFull() error {
	room := w.limit - riemann.HeaderSize - sumSize
	start, last, n := 0, 0, 0
	for i, end := range w.ends {
		if end-start > room && last > start {
			if err := w.writeFrame(w.events[start:last], nil); err != nil {
				return err
			}
			start, n = last, i
		}
		last = end
	}
	w.events = append(w.events[:0], w.events[start:]...)
	w.ends = append(w.ends[:0], w.ends[n:]...)
	for i := range w.ends {
		w.ends[i] -= start
	}
	return nil
}

// writeFrame writes a frame of events and another field.
func (w *snapshotWriter) writeFrame(events, field []byte) error {
	w.frame = riemann.BeginFrame(w.frame[:0])
	w.frame = append(append(w.frame, events...), field...)
	w.sum = crc32.Update(w.sum, castagnoli, w.frame[riemann.HeaderSize:])
	w.frame = protowire.AppendFixed32(protowire.AppendTag(w.frame, sumMark, protowire.Fixed32Type), w.sum)
	riemann.EndFrame(w.frame, 0)
	n, err := w.file.Write(w.frame)
	w.written.Bytes += int64(n)
	return err
}
