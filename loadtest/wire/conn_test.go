package wire

import (
	"context"
	"io"
	"net"
	"testing"
	"time"
)

func pair(t *testing.T) (Conn, net.Conn) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	c, err := DialTCP(l.Addr().String(), 10*time.Second)(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	peer, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close(); peer.Close() })
	return c, peer
}

// A peer that reads nothing makes TryWrite return what fitted, then 0, and
// Write goes on from there: no byte is lost or doubled.
func TestTryWriteNeverWaits(t *testing.T) {
	c, peer := pair(t)
	data := make([]byte, 32<<20)
	for i := range data {
		data[i] = byte(i % 251)
	}
	taken := 0
	for {
		n, err := c.TryWrite(data[taken:])
		if err != nil {
			t.Fatal(err)
		}
		taken += n
		if n == 0 {
			break
		}
	}
	if taken == 0 || taken == len(data) {
		t.Fatalf("an unread socket took %d of %d bytes", taken, len(data))
	}
	wrote := make(chan error, 1)
	go func() {
		_, err := c.Write(data[taken:])
		c.CloseWrite()
		wrote <- err
	}()
	got, err := io.ReadAll(peer)
	if err != nil || len(got) != len(data) {
		t.Fatalf("read %d bytes of %d: %v", len(got), len(data), err)
	}
	for i := range got {
		if got[i] != byte(i%251) {
			t.Fatalf("byte %d is %d", i, got[i])
		}
	}
	if err := <-wrote; err != nil {
		t.Error(err)
	}
}

func TestTryWriteAllocatesNothing(t *testing.T) {
	c, peer := pair(t)
	go io.Copy(io.Discard, peer)
	b := make([]byte, 16)
	if n := testing.AllocsPerRun(100, func() {
		if _, err := c.TryWrite(b); err != nil {
			t.Fatal(err)
		}
	}); n != 0 {
		t.Errorf("%v allocations a write", n)
	}
}

func TestTryWriteOnAClosedConnection(t *testing.T) {
	c, _ := pair(t)
	c.Close()
	if _, err := c.TryWrite([]byte{1}); err == nil {
		t.Error("a closed connection takes bytes")
	}
}
