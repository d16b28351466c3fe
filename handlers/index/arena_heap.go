//go:build !linux || race

package index

import "unsafe"

// In race builds the memory of the index is the Go heap's, because the race
// detector doesn't see mapped memory.
const (
	arenaShift = 21
	raceBuild  = true
)

func mapArena() (unsafe.Pointer, error) {
	return unsafe.Pointer(unsafe.SliceData(make([]byte, 1<<arenaShift))), nil
}

func unmapArena(unsafe.Pointer) {}

func forget(b []byte) { clear(b) }

func warm([]byte) bool { return true }
