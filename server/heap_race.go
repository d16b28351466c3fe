//go:build race || !linux

package main

// indexOnHeap tells that the index lies on the Go heap, for the race detector to see.
const indexOnHeap = true
