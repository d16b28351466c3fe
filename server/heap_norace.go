//go:build !race && linux

package main

// indexOnHeap tells that the index lies outside the Go heap.
const indexOnHeap = false
