//go:build !race

package web

const underRace = false
