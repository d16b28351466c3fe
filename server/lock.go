package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"syscall"
)

// errInUse tells that another process writes its snapshots to the same file.
var errInUse = errors.New("it is in use")

// lockFile takes the file path for this process alone, and notes the process's id in it for
// whoever comes next. The kernel gives it back when the file is closed, or the process
// ended, however that came. It is not the file to be protected, which is replaced by
// others again and again, but one beside it.
func lockFile(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		owner, _ := io.ReadAll(io.LimitReader(f, 20)) // empty if it has not been noted yet
		_ = f.Close()                                 // only read
		if err == syscall.EWOULDBLOCK {
			return nil, fmt.Errorf("%w by process %s, which has locked %s", errInUse, strings.TrimSpace(string(owner)), path)
		}
		return nil, fmt.Errorf("lock %s: %w", path, err)
	}
	if err := f.Truncate(0); err == nil {
		_, _ = fmt.Fprintln(f, os.Getpid()) // only for the message above
	}
	return f, nil
}
