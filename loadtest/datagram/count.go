package datagram

import (
	"context"
	"fmt"
	"net"
	"time"

	"google.golang.org/protobuf/proto"

	"darboux/handlers/riemann/pb"
	"darboux/loadtest/wire"
	"darboux/loadtest/workload"
)

// CountService is the service of the event by which a server tells how many datagrams
// it has received.
const CountService = "darboux datagrams received"

// mostCount bounds the answer, one event.
const mostCount = 64 << 10

// Count asks a server over TCP how many datagrams it has received. known is false if it
// has no such event.
func Count(ctx context.Context, address string, timeout time.Duration) (n int64, known bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	var dialer net.Dialer
	c, err := dialer.DialContext(ctx, "tcp", address)
	if err != nil {
		return 0, false, err
	}
	defer c.Close()
	defer context.AfterFunc(ctx, func() { c.Close() })()
	reply, err := ask(c, workload.Query(fmt.Sprintf("service = %q", CountService)))
	if err != nil {
		return 0, false, fmt.Errorf("ask for %q: %w", CountService, err)
	}
	if !reply.GetOk() {
		return 0, false, fmt.Errorf("ask for %q: %s", CountService, reply.GetError())
	}
	for _, e := range reply.Events {
		return e.GetMetricSint64(), true, nil
	}
	return 0, false, nil
}

func ask(c net.Conn, query []byte) (*pb.Msg, error) {
	if _, err := c.Write(query); err != nil {
		return nil, err
	}
	body, err := wire.ReadFrame(c, mostCount)
	if err != nil {
		return nil, err
	}
	reply := &pb.Msg{}
	return reply, proto.Unmarshal(body, reply)
}
