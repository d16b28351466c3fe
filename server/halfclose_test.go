package main

import (
	"bytes"
	"strings"
	"testing"

	"darboux/handlers/riemann/pb"
)

// A client that shuts down its sending side with requests unanswered gets every
// reply, and then the end of the stream.
func TestHalfCloseGetsEveryReply(t *testing.T) {
	for _, handlers := range []string{"0", "2"} {
		t.Run(handlers+" handlers", func(t *testing.T) {
			d := start(t, "--handlers", handlers)
			c := dial(t, d.addr)
			a := alternating{"half ", 1500, 50}
			stream := a.frames(t)
			go func() {
				if _, err := c.Write(stream); err != nil {
					t.Errorf("write: %v", err)
				}
				if err := c.shutdown(); err != nil {
					t.Errorf("shut down: %v", err)
				}
			}()
			if err := a.check(c); err != nil {
				t.Error(err)
			}
			c.end()
		})
	}
}

// A frame that ends in the middle is no request: those before it are answered.
func TestStreamEndsInsideAFrame(t *testing.T) {
	d := start(t)
	whole := encoded(t, &pb.Msg{Events: []*pb.Event{event("whole", 1)}})
	for cut := 1; cut < len(whole); cut += 3 {
		c := dial(t, d.addr)
		c.write(append(bytes.Clone(whole), whole[:cut]...))
		if err := c.shutdown(); err != nil {
			t.Fatal(err)
		}
		c.ack()
		c.end()
		c.done()
	}
	if n := d.drain().number(t, "frames_incomplete_at_the_end_of_the_stream"); n == 0 {
		t.Error("no incomplete frame was counted")
	}
}

// A client that is in the middle of a large send when its frame is refused reads the
// error, and not a reset.
func TestRefusalReachesABusySender(t *testing.T) {
	d := start(t)
	c := dial(t, d.addr)
	rubbish := bytes.Repeat([]byte{0xff}, 10<<20)
	written := make(chan error, 1)
	go func() {
		_, err := c.Write(rubbish)
		if err == nil {
			err = c.shutdown()
		}
		written <- err
	}()
	if reply := c.reply(); reply.GetOk() || !strings.Contains(reply.GetError(), "4294967295") {
		t.Errorf("reply %v", reply)
	}
	c.end()
	if err := <-written; err != nil {
		t.Errorf("the send of %d bytes: %v", len(rubbish), err)
	}
}
