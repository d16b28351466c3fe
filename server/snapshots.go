package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"darboux/handlers/index"
)

// retryAfter is when a snapshot that failed is tried again, unless its turn comes
// sooner.
const retryAfter = 10 * time.Second

// snapshots writes the index to its file: at every interval, when asked for, and at
// the end. One goroutine of its own does, so that serving goes on whatever becomes
// of the file.
type snapshots struct {
	file    index.Snapshot
	store   index.Store
	log     *slog.Logger
	every   time.Duration // 0: only when asked for
	timeout time.Duration // of the one at the end
	salvage bool
	failing bool // the last one failed

	lock    *os.File    // keeps other processes from the file; nil: it could not be had
	asked   chan string // why, one at a time
	stuck   atomic.Bool // a call of the file system never came back: the store is still in use
	cancel  context.CancelFunc
	running sync.WaitGroup

	written, failed atomic.Int64 // how many
	events, bytes   atomic.Int64 // of the last good one
	took            atomic.Int64 // how long it took, in milliseconds
	at              atomic.Int64 // when it was done, in seconds of the Unix epoch; 0: never
	loaded, refused atomic.Int64 // events at the start
}

// byInterval is why most snapshots are written.
const byInterval = "interval"

func newSnapshots(o *Options, store index.Store, log *slog.Logger) *snapshots {
	return &snapshots{
		file: index.Snapshot{Path: o.Snapshot, Salvage: o.SnapshotSalvage}, store: store, log: log,
		every: o.SnapshotEvery, timeout: o.SnapshotTimeout, salvage: o.SnapshotSalvage,
		asked: make(chan string, 1),
	}
}

// load fills the empty index from the file, if there is one.
func (s *snapshots) load(ctx context.Context, now time.Time) error {
	if err := checkFolder(s.file.Path); err != nil {
		return err
	}
	if err := s.takeFile(); err != nil {
		return err
	}
	begin := time.Now()
	got, err := s.file.Load(ctx, s.store, now.UnixMicro())
	s.loaded.Store(got.Events)
	s.refused.Store(got.Refused)
	var damage *index.Damage
	switch {
	case errors.Is(err, fs.ErrNotExist):
		s.log.Info("there is no snapshot yet", "file", s.file.Path)
		return nil
	case errors.As(err, &damage) && s.salvage:
		s.log.Warn("salvaged what is whole of a damaged snapshot", "file", s.file.Path, "events", got.Events, "frames_left_out", got.LeftOut,
			"offset", damage.Offset, "reason", damage.Reason)
		s.keepDamaged()
	case errors.As(err, &damage):
		return fmt.Errorf("%w; --snapshot-salvage would start with the %d events before that, and with those of whole frames behind it", err, got.Events)
	case err != nil:
		return err
	}
	s.log.Info("snapshot loaded", "file", s.file.Path, "events", got.Events, "took", time.Since(begin).Round(time.Millisecond))
	if got.Refused > 0 {
		s.log.Warn("events of the snapshot were refused", "events", got.Refused, "reason", s.store.WhyRefused())
	}
	return nil
}

// takeFile keeps other processes from the file: two that write to it would each undo what
// the other did. A folder that can't be written to now, or a file system without locks,
// keeps nobody from starting.
func (s *snapshots) takeFile() error {
	lock, err := lockFile(s.file.Path + ".lock")
	if errors.Is(err, errInUse) {
		return fmt.Errorf("%s: %w; give each server a file of its own", s.file.Path, err)
	}
	if err != nil {
		s.log.Warn("nothing keeps another server from the same snapshot", "file", s.file.Path, "error", err)
	}
	s.lock = lock
	return nil
}

// checkFolder tells a slip of the pen in the file's name from a folder that only can't
// be written to now.
func checkFolder(path string) error {
	folder, err := os.Stat(filepath.Dir(path))
	switch {
	case err != nil:
		return err
	case !folder.IsDir():
		return fmt.Errorf("%s is no folder", filepath.Dir(path))
	}
	if file, err := os.Stat(path); err == nil && !file.Mode().IsRegular() {
		return fmt.Errorf("%s is no regular file", path)
	}
	return nil
}

// keepDamaged keeps the damaged file under another name, before the next snapshot
// takes its place: what could not be read of it may still be of use to somebody.
func (s *snapshots) keepDamaged() {
	kept := s.file.Path + ".damaged"
	err := os.Remove(kept)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		s.log.Warn("the damaged snapshot is not kept", "error", err)
		return
	}
	replaced := err == nil
	if err := os.Link(s.file.Path, kept); err != nil {
		s.log.Warn("the damaged snapshot is not kept", "error", err)
		return
	}
	s.log.Info("the damaged snapshot is kept", "file", kept, "in_place_of_an_earlier_one", replaced)
}

// start begins to write snapshots.
func (s *snapshots) start() {
	ctx, cancel := context.WithCancel(context.Background())
	s.cancel = cancel
	s.running.Go(func() { s.run(ctx) })
}

// askFor asks for a snapshot now. It does not wait for it; if one is asked for already,
// that one is for both.
func (s *snapshots) askFor(why string) {
	select {
	case s.asked <- why:
	default:
	}
}

// stuckGrace is how long after its time limit the last snapshot may take to notice it.
const stuckGrace = time.Second

// stop writes the last snapshot, in place of one that is being written. It has a
// time limit of its own: the drain may have used up that of ctx.
func (s *snapshots) stop(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.timeout)
	defer cancel()
	done := make(chan error, 1)
	go func() {
		s.cancel()
		s.running.Wait()
		done <- s.write(ctx, "end", 0) // nobody is in the way any more
	}()
	select {
	case err := <-done:
		if s.lock != nil {
			_ = s.lock.Close() // nothing of it is to be kept
		}
		return s.inTime(err)
	case <-time.After(s.timeout + stuckGrace):
		s.stuck.Store(true)
		return s.inTime(fmt.Errorf("the file system does not answer: %w", context.DeadlineExceeded))
	}
}

// inTime names the flag by which a snapshot may take longer.
func (s *snapshots) inTime(err error) error {
	if errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("--snapshot-timeout %v is over: %w", s.timeout, err)
	}
	return err
}

// run writes snapshots until ctx ends.
func (s *snapshots) run(ctx context.Context) {
	timer := time.NewTimer(s.every)
	if s.every == 0 {
		timer.Stop()
	}
	defer timer.Stop()
	for {
		var err error
		select {
		case <-ctx.Done():
			return
		case why := <-s.asked:
			err = s.write(ctx, why, restWhileServing)
		case <-timer.C:
			err = s.write(ctx, byInterval, restWhileServing)
		}
		switch {
		case err != nil && (s.every == 0 || s.every > retryAfter):
			timer.Reset(retryAfter)
		case s.every > 0:
			timer.Reset(s.every)
		}
	}
}

// restWhileServing is how many times as long as it works the writer of a snapshot rests:
// it takes about a ninth of a core from those who serve, and what the kernel needs to write is
// spread as well.
const restWhileServing = 8

// write writes a snapshot, resting that many times as long as it works, and counts and
// logs what becomes of it. The last good one stays if it fails.
func (s *snapshots) write(ctx context.Context, why string, rest int) error {
	begin := time.Now()
	file := s.file
	file.Rest = rest
	done, err := file.Write(ctx, s.store)
	took := time.Since(begin).Round(time.Millisecond)
	switch {
	case err != nil && ctx.Err() == context.Canceled:
		return err // the one at the end takes its place
	case err != nil:
		s.failed.Add(1)
		s.failing = true
		s.log.Error("no snapshot was written; the last good one stays", "why", why, "took", took, "error", err)
		return err
	}
	s.written.Add(1)
	s.events.Store(done.Events)
	s.bytes.Store(done.Bytes)
	s.took.Store(took.Milliseconds())
	s.at.Store(time.Now().Unix())
	level := slog.LevelInfo
	if why == byInterval && !s.failing {
		level = slog.LevelDebug // what goes on as expected
	}
	s.failing = false
	s.log.Log(ctx, level, "snapshot written", "why", why, "file", s.file.Path, "events", done.Events, "bytes", done.Bytes, "took", took)
	return nil
}

// metrics are the counters and gauges of snapshots.
func (s *snapshots) metrics(now time.Time) []metric {
	age := int64(-1)
	if at := s.at.Load(); at > 0 {
		age = now.Unix() - at
	}
	return []metric{
		{"snapshots written", "Snapshots of the index written since the start.", counter, s.written.Load()},
		{"snapshots failed", "Snapshots that could not be written; the last good one stays.", counter, s.failed.Load()},
		{"snapshot events", "Events in the last snapshot written.", gauge, s.events.Load()},
		{"snapshot bytes", "Bytes of the last snapshot written.", gauge, s.bytes.Load()},
		{"snapshot milliseconds", "How long the last snapshot took.", gauge, s.took.Load()},
		{"snapshot age seconds", "Time since the last snapshot was written; -1 if none was since the start.", gauge, age},
		{"snapshot events loaded", "Events loaded from the snapshot at the start.", gauge, s.loaded.Load()},
		{"snapshot events refused", "Events of the snapshot at the start that a limit of the index refused.", gauge, s.refused.Load()},
	}
}
