package index

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"google.golang.org/protobuf/encoding/protowire"

	"darboux/handlers/riemann"
)

// Damage says where and why a snapshot is not whole.
type Damage struct {
	Path   string
	Offset int64 // of the frame that is not whole
	Reason string

	cause error // errWrongSum or nil
}

// Unwrap returns the kind of the damage, if it has one.
func (d *Damage) Unwrap() error { return d.cause }

func (d *Damage) Error() string {
	return fmt.Sprintf("snapshot %s is damaged at byte %d: %s", d.Path, d.Offset, d.Reason)
}

// Loaded is what was loaded.
type Loaded struct {
	Events  int64 // taken into the store
	Refused int64 // refused by a limit of the store; see Store.WhyRefused
	LeftOut int64 // frames that were passed over; see Snapshot.Salvage
}

// Load puts the entries of a snapshot into a store, which takes no others
// meanwhile. What has expired since is there until Expire runs. Each frame is
// verified before anything of it is taken; if one is not whole, or the file ends
// too soon, the error is a *Damage, and the frames before it are in the store, with
// Salvage also those behind it that are whole. A
// file that is not there is an error that wraps fs.ErrNotExist. Load ends early
// with ctx.
func (s *Snapshot) Load(ctx context.Context, store Store, now int64) (Loaded, error) {
	file, err := s.files().Open(s.Path)
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return Loaded{}, err
		}
		return Loaded{}, fmt.Errorf("snapshot %s: %w", s.Path, err)
	}
	size, err := file.Size()
	if err == nil {
		r := snapshotReader{in: bufio.NewReader(file), path: s.Path, size: size, salvage: s.Salvage}
		l := loader{store: store, now: now}
		err = l.loadAll(ctx, &r)
		if r.damaged != nil {
			err = r.damaged // the first one
		}
		return Loaded{l.taken.Load(), l.refused.Load(), r.leftOut}, errors.Join(err, file.Close())
	}
	return Loaded{}, errors.Join(err, file.Close())
}

// loader gives frames to goroutines that put their events into the store: their
// order does not matter, as no key comes twice.
type loader struct {
	store          Store
	now            int64
	frames         chan []byte
	used           chan []byte // frames that are done with, to be read into
	taken, refused atomic.Int64
}

// framesAhead is how many frames may wait to be taken.
const framesAhead = 4

func (l *loader) loadAll(ctx context.Context, r *snapshotReader) error {
	takers := runtime.GOMAXPROCS(0)
	l.frames = make(chan []byte, framesAhead)
	l.used = make(chan []byte, framesAhead+takers+1)
	var all sync.WaitGroup
	for range takers {
		all.Go(l.take)
	}
	err := l.read(ctx, r)
	close(l.frames)
	all.Wait()
	return err
}

func (l *loader) read(ctx context.Context, r *snapshotReader) error {
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		frame, err := r.next(l.buffer())
		if err != nil || frame == nil {
			return err
		}
		l.frames <- frame
	}
}

// buffer is memory of a frame that is done with, if there is any.
func (l *loader) buffer() []byte {
	select {
	case b := <-l.used:
		return b
	default:
		return nil
	}
}

// take puts the events of frames into the store until there are no more.
func (l *loader) take() {
	events := make([]riemann.Event, 0, batchEvents)
	refused := make([]bool, batchEvents)
	for frame := range l.frames {
		for rest := frame; len(rest) > 0; {
			var err error
			if events, rest, err = nextStored(events, rest); err != nil {
				panic("BUG: a frame that was verified is damaged: " + err.Error())
			}
			n := l.store.Apply(events, l.now, refused)
			l.refused.Add(int64(n))
			l.taken.Add(int64(len(events) - n))
		}
		l.used <- frame // never full: so many frames wait, are taken and are read
	}
}

// snapshotReader reads frames and verifies them.
type snapshotReader struct {
	in     *bufio.Reader
	path   string
	size   int64 // of the file
	offset int64 // of the frame at hand
	sum    uint32
	events int64
	frames int
	views  []riemann.Event // room for those of some events

	salvage bool    // pass over frames whose checksum is wrong
	damaged *Damage // the first of them
	leftOut int64   // how many they are
}

func (r *snapshotReader) damage(format string, args ...any) error {
	return &Damage{r.path, r.offset, fmt.Sprintf(format, args...), nil}
}

// next is the body of the next frame with events, without marks; nil behind the
// last. It is in room, if that is large enough.
func (r *snapshotReader) next(room []byte) ([]byte, error) {
	for {
		body, err := r.readFrame(room)
		if err != nil {
			return nil, err
		}
		rest, err := r.checkSum(body)
		if errors.Is(err, errWrongSum) && r.salvage && r.frames > 0 {
			r.leaveOut(body, err)
			continue
		}
		if err != nil {
			return nil, err
		}
		events, last, err := r.checkFrame(rest)
		if err != nil {
			return nil, err
		}
		r.offset += int64(riemann.HeaderSize + len(body))
		r.frames++
		switch {
		case last && r.offset != r.size:
			return nil, r.damage("%d bytes follow the last frame", r.size-r.offset)
		case last:
			return nil, nil
		case events:
			return rest, nil
		}
	}
}

// errWrongSum is what a *Damage wraps where a frame's length leads on, but its bytes are
// not those that were written.
var errWrongSum = errors.New("the checksum is wrong")

// leaveOut passes over a frame whose checksum is wrong. What follows is verified from what
// the frame says of itself: if that is wrong, too, the next frame is left out as well.
func (r *snapshotReader) leaveOut(body []byte, err error) {
	if r.damaged == nil {
		errors.As(err, &r.damaged)
	}
	r.sum = binary.LittleEndian.Uint32(body[len(body)-sumSize+len(sumTag):])
	r.offset += int64(riemann.HeaderSize + len(body))
	r.frames++
	r.leftOut++
}

func (r *snapshotReader) readFrame(room []byte) ([]byte, error) {
	var header [riemann.HeaderSize]byte
	if n, err := io.ReadFull(r.in, header[:]); err != nil {
		if err == io.EOF {
			return nil, r.damage("the file ends without its last frame")
		}
		return nil, r.readError(err, "the file ends after %d of the %d bytes of a length", n, len(header))
	}
	length := int64(binary.BigEndian.Uint32(header[:]))
	if left := r.size - r.offset - riemann.HeaderSize; length > left {
		return nil, r.damage("the frame should have %d bytes, but the file has only %d more", length, left)
	}
	body := slices.Grow(room[:0], int(length))[:length]
	if n, err := io.ReadFull(r.in, body); err != nil {
		return nil, r.readError(err, "the file ends after %d of the %d bytes of a frame", n, length)
	}
	return body, nil
}

func (r *snapshotReader) readError(err error, format string, args ...any) error {
	if err == io.EOF || err == io.ErrUnexpectedEOF {
		return r.damage(format, args...)
	}
	return fmt.Errorf("snapshot %s, at byte %d: %w", r.path, r.offset, err)
}

// sumTag stands before a checksum.
var sumTag = protowire.AppendTag(nil, sumMark, protowire.Fixed32Type)

// checkSum verifies a frame's checksum and returns what stands before it.
func (r *snapshotReader) checkSum(body []byte) ([]byte, error) {
	rest := body[:max(0, len(body)-sumSize)]
	mark := body[len(rest):]
	if len(mark) < sumSize || !bytes.HasPrefix(mark, sumTag) {
		return nil, r.damage("the frame of %d bytes has no checksum", len(body))
	}
	r.sum = crc32.Update(r.sum, castagnoli, rest)
	if want := binary.LittleEndian.Uint32(mark[len(sumTag):]); r.sum != want {
		return nil, &Damage{r.path, r.offset, fmt.Sprintf("the checksum is %08x, but the frame of %d bytes says %08x", r.sum, len(body), want), errWrongSum}
	}
	return rest, nil
}

// checkFrame verifies what a frame says, and reports whether it has events and
// whether it is the last.
func (r *snapshotReader) checkFrame(b []byte) (events, last bool, err error) {
	num, typ, n := protowire.ConsumeTag(b)
	if n < 0 || n+protowire.ConsumeFieldValue(num, typ, b[n:]) < n {
		return false, false, r.damage("the frame does not begin with a field")
	}
	switch {
	case num == eventsNumber:
		return true, false, r.checkEvents(b)
	case r.frames == 0 && num == snapshotMark && typ == protowire.BytesType:
		if name, _ := protowire.ConsumeString(b[n:]); name != snapshotName {
			return false, false, r.damage("it is a %q, but only a %q can be read", name, snapshotName)
		}
		return false, false, nil
	case r.frames > 0 && num == countMark && typ == protowire.VarintType:
		if count, _ := protowire.ConsumeVarint(b[n:]); count != uint64(r.events) && r.leftOut == 0 {
			return false, false, r.damage("the file has %d events, but its last frame says %d", r.events, count)
		}
		return false, true, nil
	}
	return false, false, r.damage("the frame has no events and is neither the first nor the last")
}

func (r *snapshotReader) checkEvents(b []byte) (err error) {
	if r.frames == 0 {
		return r.damage("the file does not begin as a snapshot does")
	}
	if r.views == nil {
		r.views = make([]riemann.Event, 0, batchEvents)
	}
	for len(b) > 0 {
		r.views, b, err = nextStored(r.views, b)
		r.events += int64(len(r.views))
		if err != nil {
			return r.damage("event %d of the file: %v", r.events, err)
		}
	}
	return nil
}

// nextStored views the next events of a frame in place of those in events, as many as
// these have room for, and returns them and what is left of the frame. With an error the
// events are those before what is wrong.
func nextStored(events []riemann.Event, frame []byte) ([]riemann.Event, []byte, error) {
	events = events[:0]
	for len(frame) > 0 && len(events) < cap(events) {
		num, typ, n := protowire.ConsumeTag(frame)
		if n < 0 || num != eventsNumber || typ != protowire.BytesType {
			return events, frame, errNoEvent
		}
		raw, size := protowire.ConsumeBytes(frame[n:])
		if size < 0 {
			return events, frame, protowire.ParseError(size)
		}
		events = events[:len(events)+1]
		if err := parseKept(&events[len(events)-1], raw); err != nil {
			return events[:len(events)-1], frame, err
		}
		frame = frame[n+size:]
	}
	return events, frame, nil
}

// keptTag stands before what was kept of an event. Its value takes at most three
// bytes.
var keptTag = protowire.AppendTag(nil, keptMark, protowire.VarintType)

var (
	errNoEvent   = errors.New("there is another field in its place")
	errNoKept    = errors.New("it lacks the field that says what its client had set")
	errNotStored = errors.New("it is not as a store has it: fields are missing, or say that they are")
)

// What a stored form always has, and what it has exactly if the client set it.
const (
	alwaysStored = riemann.HasTime | riemann.HasTimeMicros | riemann.HasTTL
	metrics      = riemann.HasSint64 | riemann.HasD | riemann.HasF
	storedAsSet  = riemann.HasHost | riemann.HasService | riemann.HasState | riemann.HasDescription | riemann.HasTags | riemann.HasAttributes
)

// parseKept views an event of a snapshot, b, as stored.
func parseKept(e *riemann.Event, b []byte) error {
	at, kept := cutKept(b)
	if at < 0 {
		return errNoKept
	}
	if err := e.Parse(b[:at]); err != nil {
		return err
	}
	has := e.Set
	if has&alwaysStored != alwaysStored || (has^kept)&storedAsSet != 0 || kept&^has&^metrics != riemann.IsStored || counting(kept)&^has != 0 {
		return errNotStored
	}
	e.Set = kept
	return nil
}

// counting is the metric that counts of those that a client set; of several, the others
// are not stored.
func counting(kept riemann.Fields) riemann.Fields {
	for _, kind := range []riemann.Fields{riemann.HasSint64, riemann.HasD, riemann.HasF} {
		if kept&kind != 0 {
			return kind
		}
	}
	return 0
}

// cutKept finds where in an event of a snapshot the field begins that says what
// was kept, and what that is; at is negative if there is none.
func cutKept(b []byte) (at int, kept riemann.Fields) {
	for n := 1; n <= 3; n++ {
		if at = len(b) - n - len(keptTag); at < 0 {
			break
		}
		v, size := protowire.ConsumeVarint(b[at+len(keptTag):])
		if size == n && bytes.HasPrefix(b[at:], keptTag) && v <= uint64(^riemann.Fields(0)) {
			return at, riemann.Fields(v)
		}
	}
	return -1, 0
}
