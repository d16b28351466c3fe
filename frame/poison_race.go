//go:build race

package frame

// Poison overwrites a buffer that is released, so that a use after release shows
// in tests that run under the race detector.
func Poison(b []byte) {
	b = b[:cap(b)]
	for i := range b {
		b[i] = 0xdb
	}
}
