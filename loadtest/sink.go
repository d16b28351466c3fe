package main

import (
	"context"
	"flag"
	"fmt"
	"net"
	"time"

	"google.golang.org/protobuf/proto"

	"darboux/handlers/riemann/pb"
	"darboux/loadtest/datagram"
	"darboux/loadtest/naive"
)

// serveSink is the command sink: a bare loop that receives datagrams and forgets them.
// Over TCP, at the same port, the naive server tells how many they were.
func serveSink(ctx context.Context, args []string, to streams) (int, error) {
	const usage = "Usage: darboux-load sink [--listen ADDRESS]\n\nReceives datagrams and forgets them; over TCP it tells how many they were."
	address := ""
	rest, err := parseSmall("sink", usage, args, to.out, func(fs *flag.FlagSet) {
		fs.StringVar(&address, "listen", "127.0.0.1:0", "`address` to receive at; port 0 is any free one")
	})
	if err != nil {
		return 0, err
	}
	if len(rest) > 0 {
		return 0, usagef("sink: %q is no flag", rest[0])
	}
	l, err := net.Listen("tcp", address)
	if err != nil {
		return 0, err
	}
	defer l.Close()
	sink, err := datagram.OpenSink(l.Addr().String())
	if err != nil {
		return 0, err
	}
	fmt.Fprintf(to.out, "sink listens at %s\n", l.Addr())
	return exitOK, runSink(ctx, l, sink)
}

// runSink receives until the context is done.
func runSink(ctx context.Context, l net.Listener, sink *datagram.Sink) error {
	s := naive.New()
	defer s.Close()
	served := make(chan error, 1)
	go func() { served <- s.Serve(l) }()
	ended := make(chan error, 1)
	go func() { ended <- sink.Run() }()
	ticks := time.NewTicker(glance)
	defer ticks.Stop()
	for {
		s.Apply(&pb.Event{Service: proto.String(datagram.CountService), MetricSint64: proto.Int64(sink.Received())})
		select {
		case <-ticks.C:
		case err := <-ended:
			return err
		case err := <-served:
			return err
		case <-ctx.Done():
			sink.Close()
			l.Close()
			<-served
			return <-ended
		}
	}
}
