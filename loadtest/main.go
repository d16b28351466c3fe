// Command darboux-load puts a Riemann server under load and tells the truth
// about it: a closed or an open loop, requests pipelined on many connections,
// each request accounted for. docs/BENCHMARKS.md explains every figure.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
)

// The exit codes.
const (
	exitOK     = 0
	exitBroken = 1 // a promise is broken, --verify failed, or the run could not be made
	exitUsage  = 2
	exitRate   = 3 // less than 99 % of the requested rate was achieved
)

// usageError is what the user can put right in the command line.
type usageError struct{ error }

func usagef(format string, args ...any) error {
	return usageError{fmt.Errorf(format, args...)}
}

// streams are where a command writes: results to out, all else to err.
type streams struct{ out, err io.Writer }

// command is one of the program's.
type command struct {
	name, help string
	run        func(ctx context.Context, args []string, to streams) (exit int, err error)
}

func commands() []command {
	return []command{
		{"run", "put a server under load once (the default)", runOnce},
		{"sweep", "start a server with each combination of settings; table and heat map", sweep},
		{"compare", "run two servers in turns, A B A B; ratios with their spread", compare},
		{"report", "put the JSON of several runs side by side on one page", reportRuns},
		{"naive", "be the deliberately obvious reference server", serveNaive},
		{"sink", "be a bare loop that receives datagrams, the yardstick for --proto udp", serveSink},
	}
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal ends the program at once
	exit := dispatch(ctx, os.Args[1:], streams{os.Stdout, os.Stderr})
	stop()
	os.Exit(exit)
}

// dispatch runs the command that args name.
func dispatch(ctx context.Context, args []string, to streams) int {
	run := runOnce
	if len(args) > 0 {
		for _, c := range commands() {
			if args[0] == c.name {
				run, args = c.run, args[1:]
				break
			}
		}
	}
	exit, err := run(ctx, args, to)
	var usage usageError
	switch {
	case errors.Is(err, flag.ErrHelp):
		return exitOK
	case errors.As(err, &usage):
		fmt.Fprintf(to.err, "darboux-load: %v\nTry darboux-load --help.\n", err)
		return exitUsage
	case err != nil:
		fmt.Fprintf(to.err, "darboux-load: %v\n", err)
		return exitBroken
	}
	return exit
}
