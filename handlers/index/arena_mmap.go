//go:build linux && !race

package index

import (
	"fmt"
	"unsafe"

	"golang.org/x/sys/unix"
)

const (
	// arenaShift is the size of an arena, 64 MiB: one mapping is then cheap, and
	// even an event of many megabytes finds a run in it.
	arenaShift = 26

	// raceBuild tells that memory is the Go heap's, which the race detector
	// watches. See arena_heap.go.
	raceBuild = false

	hugePage = 2 << 20
)

// mapArena maps an arena at an address that huge pages can begin at. No memory
// is behind it until it is touched.
func mapArena() (unsafe.Pointer, error) {
	const size = 1 << arenaShift
	start, err := unix.MmapPtr(-1, 0, nil, size+hugePage, unix.PROT_READ|unix.PROT_WRITE,
		unix.MAP_PRIVATE|unix.MAP_ANON|unix.MAP_NORESERVE)
	if err != nil {
		return nil, fmt.Errorf("map %d bytes: %w", size+hugePage, err)
	}
	before := (hugePage - uintptr(start)%hugePage) % hugePage
	base := unsafe.Add(start, before)
	unmap(start, before)
	unmap(unsafe.Add(base, size), hugePage-before)
	return base, nil
}

func unmapArena(base unsafe.Pointer) { unmap(base, 1<<arenaShift) }

func unmap(start unsafe.Pointer, n uintptr) {
	if n == 0 {
		return
	}
	if err := unix.MunmapPtr(start, n); err != nil {
		panic("BUG: unmapping what was mapped: " + err.Error())
	}
}

// forget gives the memory behind b back to the kernel; b reads as zeros then.
func forget(b []byte) {
	if err := unix.Madvise(b, unix.MADV_DONTNEED); err != nil {
		panic("BUG: giving back memory: " + err.Error())
	}
}

// warm puts memory, in huge pages, behind b. It reports whether it could.
func warm(b []byte) bool {
	// Without huge pages the index is slower, not wrong: a kernel may not have them.
	_ = unix.Madvise(b, unix.MADV_HUGEPAGE)
	return unix.Madvise(b, unix.MADV_POPULATE_WRITE) == nil
}
