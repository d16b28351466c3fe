//go:build !race

package frame

// Poison does nothing outside race builds: overwriting costs as much as copying.
func Poison([]byte) {}
