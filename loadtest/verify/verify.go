// Package verify compares what a server's index holds with what it
// acknowledged. It asks for each host in turn, which every Riemann server
// understands, and decodes the answers in full: it is not on the hot path.
package verify

import (
	"bufio"
	"context"
	"fmt"
	"time"

	"darboux/handlers/riemann/pb"
	"darboux/loadtest/result"
	"darboux/loadtest/wire"
	"darboux/loadtest/workload"

	"google.golang.org/protobuf/proto"
)

const (
	maxSamples = 10       // differences that are told in full
	maxReply   = 1 << 30  // bytes of one reply: a host's entries
	readAhead  = 64 << 10 // bytes
)

// Index asks the server behind dial for every host of w that was sent to and
// compares its entries with the book. Each answer must come within timeout. A
// connection that fails is told in the result's Error.
func Index(ctx context.Context, dial wire.Dial, w *workload.Workload, book *workload.Book, timeout time.Duration) *result.Verify {
	c := &check{w: w, book: book, found: make([]bool, w.Keys())}
	if err := c.ask(ctx, dial, timeout); err != nil {
		c.Error = err.Error()
	}
	for key, found := range c.found {
		if _, acked := book.Key(key); acked > 0 {
			c.Keys++
			if !found {
				c.absent(key)
			}
		}
	}
	if c.Keys == 0 && c.Error == "" {
		c.Error = "nothing was acknowledged: there is nothing to verify"
	}
	c.OK = c.Error == "" && c.Absent == 0 && c.Wrong == 0
	return &c.Verify
}

// check is a comparison under way.
type check struct {
	result.Verify
	w     *workload.Workload
	book  *workload.Book
	found []bool
}

func (c *check) ask(ctx context.Context, dial wire.Dial, timeout time.Duration) error {
	conn, err := dial(ctx)
	if err != nil {
		return fmt.Errorf("to verify: %w", err)
	}
	defer conn.Close()
	guard := wire.NewGuard(ctx, conn, timeout)
	defer guard.Stop()
	in := bufio.NewReaderSize(conn, readAhead)
	for host := range c.w.Hosts() {
		if !c.sentTo(host) {
			continue
		}
		query := fmt.Sprintf("host = %q", c.w.Host(host))
		if err := c.askOne(conn, in, query); err != nil {
			return fmt.Errorf("query %s: %w", query, guard.Explain(err))
		}
		guard.Heard()
	}
	return nil
}

func (c *check) askOne(conn wire.Conn, in *bufio.Reader, query string) error {
	if _, err := conn.Write(workload.Query(query)); err != nil {
		return err
	}
	reply, err := read(in)
	if err != nil {
		return err
	}
	if !reply.GetOk() {
		return fmt.Errorf("rejected: %s", reply.GetError())
	}
	for _, e := range reply.Events {
		c.compare(e)
	}
	return nil
}

func (c *check) sentTo(host int) bool {
	services := c.w.Keys() / c.w.Hosts()
	for key := host * services; key < (host+1)*services; key++ {
		if sent, _ := c.book.Key(key); sent > 0 {
			return true
		}
	}
	return false
}

func read(in *bufio.Reader) (*pb.Msg, error) {
	body, err := wire.ReadFrame(in, maxReply)
	if err != nil {
		return nil, err
	}
	var m pb.Msg
	if err := proto.Unmarshal(body, &m); err != nil {
		return nil, err
	}
	return &m, nil
}

// compare judges one entry. Its metric must be the last acknowledged one, or
// one sent later whose answer did not come.
func (c *check) compare(e *pb.Event) {
	key, ours := c.w.Key(e.GetHost(), e.GetService())
	if !ours {
		c.Unknown++
		return
	}
	sent, acked := c.book.Key(key)
	if sent == 0 {
		c.Unknown++
		return
	}
	if acked == 0 {
		return // whatever it holds was never promised
	}
	c.found[key] = true
	if got := metric(e); got < acked || got > sent {
		c.Wrong++
		c.sample("%s %s: metric %d, acknowledged %d, sent %d", e.GetHost(), e.GetService(), got, acked, sent)
		return
	}
	c.Right++
}

func (c *check) absent(key int) {
	services := c.w.Keys() / c.w.Hosts()
	c.Absent++
	c.sample("%s service %d: absent", c.w.Host(key/services), key%services)
}

func (c *check) sample(format string, args ...any) {
	if len(c.Samples) < maxSamples {
		c.Samples = append(c.Samples, fmt.Sprintf(format, args...))
	}
}

// metric is the exact one, as far as there is one.
func metric(e *pb.Event) int64 {
	if e.MetricSint64 != nil {
		return e.GetMetricSint64()
	}
	if e.MetricD != nil {
		return int64(e.GetMetricD())
	}
	return int64(e.GetMetricF())
}
