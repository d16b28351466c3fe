package main

import (
	"errors"
	"io/fs"
	"log/slog"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"darboux/handlers/index"
)

// troubledFiles is a file system on which writing may fail or never come back. It keeps
// nothing, but counts what was renamed to its place.
type troubledFiles struct {
	full  atomic.Bool
	stuck chan struct{} // writing waits until it is closed; nil: it doesn't
	whole atomic.Int64
}

type troubledFile struct{ *troubledFiles }

func (f *troubledFiles) Create(string) (index.File, error) { return troubledFile{f}, nil }
func (f *troubledFiles) Open(string) (index.File, error)   { return nil, fs.ErrNotExist }
func (f *troubledFiles) Rename(string, string) error       { f.whole.Add(1); return nil }
func (f *troubledFiles) Remove(string) error               { return nil }
func (f *troubledFiles) SyncDir(string) error              { return nil }

func (f troubledFile) Write(b []byte) (int, error) {
	if f.stuck != nil {
		<-f.stuck
	}
	if f.full.Load() {
		return 0, syscall.ENOSPC
	}
	return len(b), nil
}

func (f troubledFile) Read([]byte) (int, error) { return 0, errors.New("only written") }
func (f troubledFile) Sync() error              { return nil }
func (f troubledFile) Size() (int64, error)     { return 0, nil }
func (f troubledFile) Close() error             { return nil }

// troubled makes snapshots of an empty index on a file system of the test's.
func troubled(t *testing.T, files *troubledFiles, every time.Duration) *snapshots {
	t.Helper()
	o := &Options{Snapshot: t.TempDir() + "/x", SnapshotEvery: every, SnapshotTimeout: time.Minute}
	s := newSnapshots(o, index.NewMap(index.Config{}), slog.New(slog.DiscardHandler))
	s.file.Files = files
	if err := s.load(t.Context(), time.Now()); err != nil {
		t.Fatal(err)
	}
	return s
}

// A disk that is full is tried again soon, whatever the interval; when there is room the
// interval counts again.
func TestSnapshotRetries(t *testing.T) {
	for _, every := range []time.Duration{0, time.Second, time.Hour} {
		synctest.Test(t, func(t *testing.T) {
			files := &troubledFiles{}
			files.full.Store(true)
			s := troubled(t, files, every)
			s.start()
			s.askFor("the test")
			synctest.Wait()
			if failed := s.failed.Load(); failed != 1 {
				t.Fatalf("every %v: %d snapshots failed, want 1", every, failed)
			}
			time.Sleep(retryAfter)
			synctest.Wait()
			if failed := s.failed.Load(); failed < 2 {
				t.Errorf("every %v: not tried again after %v", every, retryAfter)
			}
			files.full.Store(false)
			time.Sleep(retryAfter)
			synctest.Wait()
			written := s.written.Load()
			if written < 1 {
				t.Errorf("every %v: no snapshot was written when there was room", every)
			}
			time.Sleep(every - 1)
			synctest.Wait()
			if every > retryAfter && s.written.Load() != written {
				t.Errorf("every %v: one more was written, too soon", every)
			}
			if err := s.stop(t.Context()); err != nil {
				t.Error(err)
			}
			if files.whole.Load() != s.written.Load() {
				t.Errorf("%d files took their place, but %d snapshots were counted", files.whole.Load(), s.written.Load())
			}
		})
	}
}

// A file system that never answers can't hold up the end for longer than
// --snapshot-timeout, and the index is left as it is.
func TestStuckSnapshotDoesNotHoldUpTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		files := &troubledFiles{stuck: make(chan struct{})}
		s := troubled(t, files, 0)
		s.start()
		s.askFor("the test")
		synctest.Wait()
		begin := time.Now()
		err := s.stop(t.Context())
		if err == nil || !strings.Contains(err.Error(), "--snapshot-timeout 1m0s is over") {
			t.Errorf("error %v", err)
		}
		if took := time.Since(begin); took != time.Minute+stuckGrace || !s.stuck.Load() {
			t.Errorf("ended after %v, stuck %v", took, s.stuck.Load())
		}
		close(files.stuck)
	})
}
