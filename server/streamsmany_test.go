package main

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"path/filepath"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"darboux/handlers/riemann"
	"darboux/handlers/riemann/pb"
)

// A thousand readers with tiny windows ask for large replies at once, far more than there
// is stream memory for, and break off in each way that there is; meanwhile the events are
// overwritten, deleted and expire, and snapshots are written. Whoever reads to the end gets
// a whole reply or none, a bystander is answered, and nothing is kept when they are gone.
func TestManyReadersOfLargeReplies(t *testing.T) {
	readers := 1_000
	if underRace {
		readers = 200
	}
	for _, row := range []struct {
		name  string
		flags []string
	}{
		{"handlers", []string{"--loops", "2", "--handlers", "2"}},
		{"worked on the loop", []string{"--loops", "2", "--handlers", "0"}},
	} {
		t.Run(row.name, func(t *testing.T) {
			flags := append(kernelBuffers, "--self-events", "100ms", "--expire-every", "50ms", "--write-timeout", "0", "--frame-timeout", "0",
				"--stream-memory", "1MiB", "--max-conns", "2000", "--snapshot", filepath.Join(t.TempDir(), "snapshot"), "--snapshot-every", "100ms")
			manyReaders(t, start(t, append(flags, row.flags...)...), readers)
		})
	}
}

func manyReaders(t *testing.T, d *daemon, readers int) {
	k := crowd{keys: 1_200, size: 400}
	writer, bystander := dial(t, d.addr), dial(t, d.addr)
	k.send(writer, 0)
	stop := make(chan struct{})
	var rounds atomic.Int64
	var changing, asking sync.WaitGroup
	atOnce := make(chan struct{})
	changing.Go(func() { k.changeUntil(writer, &rounds, stop) })
	replies := make([]*pb.Msg, readers)
	random := rand.New(rand.NewPCG(7, 7))
	for i := range replies {
		c, how, after := dialSmall(t, d.addr, 2<<10), leaving(i%ways), random.Int64N(1_000_000)
		asking.Go(func() {
			<-atOnce
			var err error
			if replies[i], err = askAndLeave(c, how, after); err != nil {
				t.Errorf("a reader that %s: %v", how, err)
			}
		})
	}
	close(atOnce)
	over := make(chan struct{})
	go func() { asking.Wait(); close(over) }()
	most := int64(0)
	for left := false; !left; {
		most = max(most, bystander.metric("stream memory bytes"))
		select {
		case <-over:
			left = true
		default:
		}
	}
	bystander.awaitMetric("snapshots written", atLeast(2))
	last, err := askAndLeave(dialSmall(t, d.addr, 2<<10), stays, 0)
	if err != nil || !last.GetOk() {
		t.Errorf("one reader alone got no whole reply: %v, %v", err, last.GetError())
	}
	close(stop)
	changing.Wait()
	whole := 0
	for _, reply := range append(replies, last) {
		if reply.GetOk() {
			whole++
			k.check(t, reply)
		}
	}
	nothingKept(bystander)
	opened, broken := bystander.metric("streams opened"), bystander.metric("streams broken")
	t.Logf("of %d readers %d got whole replies; at most %d bytes of stream memory were seen, %d streams were opened, %d broken, in %d rounds of changes",
		readers, whole, most, opened, broken, rounds.Load())
	if most > 1<<20+2*(4+2)<<10 { // for a moment each of two workers may have a block and the count of some pins more
		t.Errorf("streams took up to %d bytes", most)
	}
	if broken == 0 {
		t.Error("there was stream memory for all")
	}
	bystander.awaitMetric("connections", func(n int64) bool { return n == 2 })
	writer.done()
	d.drainAfter(bystander)
}

// leaving is how a reader leaves.
type leaving int

const (
	closes    leaving = iota // in the middle, which resets the connection, as bytes are unread
	resets                   // in the middle, at once
	asksMore                 // as closes, when it has asked for more
	halfClose                // it sends no more, but reads to the end
	stays                    // to the end
	ways      = int(iota)
)

func (l leaving) String() string {
	return [ways]string{"closes", "resets", "asks for more and closes", "half closes", "stays"}[l]
}

// askAndLeave asks for the crowd and leaves, in the middle after so many bytes of the
// reply (of its length and beyond, that many less). It returns the reply if that came whole.
func askAndLeave(c net.Conn, how leaving, after int64) (*pb.Msg, error) {
	defer c.Close() // an error could only tell that it is closed
	ask := framed(riemann.AppendQueryField(nil, crowdQuery))
	if how == asksMore {
		ask = bytes.Repeat(ask, 50)
	}
	if _, err := c.Write(ask); err != nil {
		return nil, err
	}
	switch how {
	case resets:
		if err := c.(*net.TCPConn).SetLinger(0); err != nil {
			return nil, err
		}
	case halfClose:
		if err := c.(*net.TCPConn).CloseWrite(); err != nil {
			return nil, err
		}
	}
	header := make([]byte, 4)
	if _, err := io.ReadFull(patient{c}, header); err != nil {
		return nil, unlessBroken(err)
	}
	length := binary.BigEndian.Uint32(header)
	if how == halfClose || how == stays {
		return readRest(c, length)
	}
	_, err := io.CopyN(io.Discard, patient{c}, after%int64(length))
	return nil, unlessBroken(err)
}

// patient is a connection each read of which has patience of its own.
type patient struct{ net.Conn }

func (p patient) Read(b []byte) (int, error) {
	if err := p.SetReadDeadline(time.Now().Add(patience)); err != nil {
		return 0, err
	}
	return p.Conn.Read(b)
}

// readRest reads the rest of a reply whose length is known. It is nil if the connection
// ends before.
func readRest(c net.Conn, length uint32) (*pb.Msg, error) {
	body := make([]byte, length)
	if _, err := io.ReadFull(patient{c}, body); err != nil {
		return nil, unlessBroken(err)
	}
	reply := &pb.Msg{}
	return reply, proto.Unmarshal(body, reply)
}

// unlessBroken is err, unless that only says that the other side has closed the connection.
func unlessBroken(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, syscall.ECONNRESET) {
		return nil
	}
	return err
}

// A drain waits for large replies whose readers go on, and gives up those whose readers
// don't at its timeout. Neither leaves anything behind.
func TestDrainsDuringLargeReplies(t *testing.T) {
	k := crowd{keys: 1_200, size: 1_000}
	for _, row := range []struct {
		name, handlers, timeout string
		readOn                  bool
	}{
		{"readers go on", "2", "10m", true},
		{"readers go on, worked on the loop", "0", "10m", true},
		{"readers stop", "2", "200ms", false},
		{"readers stop, worked on the loop", "0", "200ms", false},
	} {
		t.Run(row.name, func(t *testing.T) {
			d := start(t, append(kernelBuffers, "--handlers", row.handlers, "--drain-timeout", row.timeout, "--write-timeout", "0")...)
			writer := dial(t, d.addr)
			k.send(writer, 0)
			var all []stopped
			for range 20 {
				all = append(all, stopAfterLength(t, d))
			}
			d.signal(syscall.SIGTERM)
			want := exitFailed
			if row.readOn {
				want = exitOK
				for _, s := range all {
					if reply := s.rest(t); reply == nil {
						t.Error("a reply is not whole")
					} else {
						k.check(t, reply)
					}
				}
			}
			if code := d.wait(); code != want {
				t.Errorf("exit code %d, want %d", code, want)
			}
			d.ledger()
			if !row.readOn && all[0].rest(t) != nil {
				t.Error("a reply that was given up came whole")
			}
		})
	}
}
