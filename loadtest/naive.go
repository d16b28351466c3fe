package main

import (
	"context"
	"flag"
	"fmt"
	"net"

	"darboux/loadtest/naive"
)

// serveNaive is the command naive: the reference server, until it is told to
// stop.
func serveNaive(ctx context.Context, args []string, to streams) (int, error) {
	const usage = "Usage: darboux-load naive [--tcp ADDRESS]\n\nA deliberately obvious Riemann server to compare others with: not for production."
	address := ""
	rest, err := parseSmall("naive", usage, args, to.out, func(fs *flag.FlagSet) {
		fs.StringVar(&address, "tcp", "127.0.0.1:0", "`address` to listen at; port 0 is any free one")
	})
	if err != nil {
		return 0, err
	}
	if len(rest) > 0 {
		return 0, usagef("naive: %q is no flag", rest[0])
	}
	l, err := net.Listen("tcp", address)
	if err != nil {
		return 0, err
	}
	s := naive.New()
	fmt.Fprintf(to.out, "naive listens at %s\n", l.Addr())
	stop := context.AfterFunc(ctx, func() { l.Close() })
	defer stop()
	err = s.Serve(l)
	s.Close()
	return exitOK, err
}
