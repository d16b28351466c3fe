package datagram

import (
	"context"
	"testing"
	"time"

	"darboux/loadtest/pace"
	"darboux/loadtest/workload"
)

func TestParseSockets(t *testing.T) {
	const table = `   sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode ref pointer drops
  100: 0100007F:15B3 00000000:0000 07 00000000:00000000 00:00000000 00000000     0        0 100 2 0000000000000000 7
  101: 0100007F:15B3 00000000:0000 07 00000000:00000000 00:00000000 00000000     0        0 101 2 0000000000000000 35
  102: 0100007F:15B4 00000000:0000 07 00000000:00000000 00:00000000 00000000     0        0 102 2 0000000000000000 1
  103: 0100007F:15B3 0100007F:15B5 01 00000000:00000000 00:00000000 00000000     0        0 103 2 0000000000000000 9
`
	for port, want := range map[uint16]int64{5555: 42, 5556: 1, 5557: -1} {
		n, found, err := parseSockets(table, port)
		if err != nil || found != (want >= 0) || found && n != want {
			t.Errorf("port %d: %d, %v, %v; want %d", port, n, found, err, want)
		}
	}
}

func TestNobodyAtAnAddressIsAnError(t *testing.T) {
	if _, err := DroppedBySockets("127.0.0.1:1"); err == nil {
		t.Error("no error, though nobody receives there")
	}
}

// Whatever is sent is received, or dropped and counted, and at the rate that was asked.
func TestEveryDatagramIsAccountedFor(t *testing.T) {
	for _, listen := range []string{"127.0.0.1:0", "[::1]:0"} {
		sink, err := OpenSink(listen)
		if err != nil {
			t.Fatal(err)
		}
		ended := make(chan error)
		go func() { ended <- sink.Run() }()
		address, err := sink.Address()
		if err != nil {
			t.Fatal(err)
		}
		load, err := workload.New(workload.Config{Hosts: 10, Services: 10, Batch: 1, EventSize: 100, Metric: "d", Times: "both", Prefix: "t"}, 3)
		if err != nil {
			t.Fatal(err)
		}
		device, err := DroppedByDevice()
		if err != nil {
			t.Fatal(err)
		}
		sent, err := Send(context.Background(), Config{
			Address: address, Workload: load, Sockets: 3, Duration: 300 * time.Millisecond,
			Schedule: func() *pace.Schedule { return pace.Constant(20_000) },
		})
		if err != nil {
			t.Fatal(err)
		}
		if sent.Due != 6000 || sent.Datagrams == 0 || sent.Datagrams > sent.Due {
			t.Errorf("%s: %d datagrams sent of %d due, want 6000 due", listen, sent.Datagrams, sent.Due)
		}
		dropped, err := DroppedBySockets(address)
		if err != nil {
			t.Fatal(err)
		}
		for end := time.Now().Add(20 * time.Second); sink.Received()+dropped < sent.Datagrams; time.Sleep(time.Millisecond) {
			if now, err := DroppedByDevice(); err != nil || now > device {
				t.Logf("the device dropped %d, %v: whose they were is not known", now-device, err)
				break
			}
			if time.Now().After(end) {
				t.Fatalf("%s: %d sent, %d received, %d dropped by the socket", listen, sent.Datagrams, sink.Received(), dropped)
			}
		}
		sink.Close()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		if got := sink.Received() + dropped; got > sent.Datagrams {
			t.Errorf("%s: %d received and dropped of %d sent", listen, got, sent.Datagrams)
		}
	}
}

// A socket that is too small drops, and the kernel's count is found.
func TestDropsAreSeen(t *testing.T) {
	sink, err := OpenSink("127.0.0.1:0") // nobody runs it
	if err != nil {
		t.Fatal(err)
	}
	address, err := sink.Address()
	if err != nil {
		t.Fatal(err)
	}
	s, err := openSender(address)
	if err != nil {
		t.Fatal(err)
	}
	defer s.close()
	frames := make([]byte, 64*1000)
	for range 1000 {
		if err := s.send(frames, 1000, 4); err != nil {
			t.Fatal(err)
		}
	}
	if n, err := DroppedBySockets(address); err != nil || n == 0 || n >= 64_000 {
		t.Errorf("%d of 64000 datagrams dropped by a socket that nobody reads, %v", n, err)
	}
	sink.Close()
	if err := sink.Run(); err != nil {
		t.Error(err)
	}
}
