//go:build race

package main

// underRace tells whether the tests run under it.
const underRace = true
