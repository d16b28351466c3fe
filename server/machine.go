package main

import (
	"math"
	"runtime"
	"runtime/debug"
	"syscall"
)

// thisMachine tells what the values called auto are made from. The runtime has
// raised the limit of open files as far as it may by the time main begins, and
// GOMAXPROCS minds the CPU limit of the container.
func thisMachine() machine {
	m := machine{cores: runtime.GOMAXPROCS(0), files: math.MaxInt32}
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err == nil {
		m.files = int(min(limit.Cur, math.MaxInt32))
	}
	return m
}

// version tells which build this is, from what the Go command noted in it.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "darboux, built without module information"
	}
	return "darboux " + info.Main.Version + " " + info.GoVersion
}
