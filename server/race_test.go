//go:build race

package main

// underRace tells whether the tests run under the race detector; then the daemon
// that they start does, too.
const underRace = true
