package index

import (
	"errors"
	"os"
)

// Files is what a Snapshot needs of a file system.
type Files interface {
	Create(path string) (File, error) // for writing, empty, for the owner alone
	Open(path string) (File, error)   // for reading
	Rename(from, to string) error
	Remove(path string) error
	SyncDir(path string) error
}

// File is what a Snapshot needs of a file.
type File interface {
	Read(b []byte) (int, error)
	Write(b []byte) (int, error)
	Sync() error
	Size() (int64, error)
	Close() error
}

func (s *Snapshot) files() Files {
	if s.Files == nil {
		return systemFiles{}
	}
	return s.Files
}

// systemFiles is the system's file system.
type systemFiles struct{}

type systemFile struct{ *os.File }

func (systemFiles) Create(path string) (File, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	return systemFile{f}, err
}

func (systemFiles) Open(path string) (File, error) {
	f, err := os.Open(path)
	return systemFile{f}, err
}

func (systemFiles) Rename(from, to string) error { return os.Rename(from, to) }

func (systemFiles) Remove(path string) error { return os.Remove(path) }

func (systemFiles) SyncDir(path string) error {
	d, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

func (f systemFile) Size() (int64, error) {
	info, err := f.Stat()
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}
