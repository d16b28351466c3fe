// Command darboux is an event server that speaks Riemann's protocol.
//
// This package reads and checks the settings (Options, and the table in
// settings.go), wires index, handlers and loops together, and at the end drains
// them and says how it went. It never touches a socket, a frame or an event's
// bytes itself, except to index its own counters (selfEvents).
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"
)

// The process's exit codes.
const (
	exitOK     = 0 // drained, everything answered; or asked only to print something
	exitFailed = 1 // could not start, or did not drain in time
	exitUsage  = 2 // the settings are wrong
)

func main() {
	os.Exit(run(os.Args[1:], os.Environ(), os.Stdout, os.Stderr))
}

func run(args, environ []string, stdout, stderr io.Writer) int {
	o, table, err := load(args, environ, thisMachine())
	switch {
	case errors.Is(err, flag.ErrHelp):
		printHelp(stdout, table)
		return exitOK
	case err != nil:
		indented := strings.ReplaceAll(err.Error(), "\n", "\n  ")
		fmt.Fprintf(stderr, "darboux: nothing is started with these settings:\n  %s\n", indented)
		return exitUsage
	case o.Version:
		fmt.Fprintln(stdout, version())
		return exitOK
	case o.Check:
		printSettings(stdout, o, table)
		return check(o, newLogger(stderr, o.LogLevel, o.LogFormat))
	}
	return serve(o, stderr)
}
