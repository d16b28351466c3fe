package main

import (
	"errors"
	"math"
	"runtime"
	"runtime/debug"
	"syscall"

	"github.com/KimMachineGun/automemlimit/memlimit"
)

// machine is what the values called auto are made from.
type machine struct {
	cores  int    // processors the process may use
	files  int    // descriptors the process may open
	memory int64  // bytes that the process may use
	source string // whose memory that is, in words for the log
}

// thisMachine tells what the values called auto are made from. The runtime has
// raised the limit of open files as far as it may by the time main begins, and
// GOMAXPROCS minds the CPU limit of the container.
func thisMachine() machine {
	m := machine{cores: runtime.GOMAXPROCS(0), files: math.MaxInt32}
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err == nil {
		m.files = int(min(limit.Cur, math.MaxInt32))
	}
	m.memory, m.source = memoryOf(memlimit.FromSystem, memlimit.FromCgroup)
	return m
}

// guessedMemory is what a machine is taken to have that doesn't tell.
const guessedMemory = gib

// memoryOf returns the lesser of what the machine has and what the process's cgroup,
// or one above it, allows; and which of them it is.
func memoryOf(machine, cgroup memlimit.Provider) (int64, string) {
	has, source := guessedMemory, "guessed, as the machine doesn't tell"
	if n, err := machine(); err == nil {
		has, source = int64(min(n, math.MaxInt64)), "the machine"
	}
	n, err := cgroup()
	switch {
	case err == nil && n < uint64(has):
		return int64(n), "the cgroup"
	case err == nil, errors.Is(err, memlimit.ErrNoLimit), errors.Is(err, memlimit.ErrNoCgroup), errors.Is(err, memlimit.ErrCgroupsNotSupported):
		return has, source
	}
	return has, source + "; whether its cgroup has a limit can't be read: " + err.Error()
}

// builtFrom is the commit, set by the Makefile (-ldflags), for where the Go command can't tell.
var builtFrom string

// version tells which build this is, from what the Go command noted in it, or the Makefile.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "darboux, built without module information"
	}
	build := info.Main.Version
	if build == "(devel)" && builtFrom != "" {
		build = builtFrom
	}
	return "darboux " + build + " " + info.GoVersion
}
