package frame

import (
	"bytes"
	"strings"
	"testing"
)

func TestGrowTakesFromTheReserveAboveOneSmallReply(t *testing.T) {
	b := &Burst{Window: 1000, Extra: NewReserve(1 << 20)}
	b.Start(OwnReply)
	if !b.Grow(OwnReply) || b.Extra.Stats().Taken != 0 {
		t.Fatalf("the burst's own room took %d bytes of the reserve", b.Extra.Stats().Taken)
	}
	b.Out = append(b.Out, make([]byte, OwnReply)...)
	if !b.Grow(1 << 19) {
		t.Fatal("there is room, and Grow says no")
	}
	taken := b.Extra.Stats().Taken
	if taken < 1<<19 {
		t.Errorf("only %d bytes are reserved for %d more", taken, 1<<19)
	}
	before := len(b.Out)
	if b.Grow(1 << 20) {
		t.Error("Grow says yes to more than the reserve has")
	}
	if len(b.Out) != before || b.Extra.Stats().Taken != taken {
		t.Error("a refused Grow changed something")
	}
	r := b.TakeReply()
	r.Release()
	if n := b.Extra.Stats().Taken; n != 0 {
		t.Errorf("%d bytes are still reserved after the release", n)
	}
}

func TestRepliesJoinWhenSmall(t *testing.T) {
	reply := func(s []byte) Reply { return NewReply(func(dst []byte) []byte { return append(dst, s...) }) }
	a, b := reply([]byte("hello ")), reply([]byte("world"))
	a.Advance(2)
	if !a.Join(&b) || string(a.Rest()) != "llo world" {
		t.Errorf("joined to %q", a.Rest())
	}
	large := bytes.Repeat([]byte("x"), MaxSmallReply)
	c := reply(large)
	if a.Join(&c) || string(a.Rest()) != "llo world" || !bytes.Equal(c.Rest(), large) {
		t.Error("a large reply was joined, or changed")
	}
}

// What is set aside is back when the burst starts anew, whatever room it has then, and
// its room is Extra's until the replies are released or it is given up.
func TestSetAside(t *testing.T) {
	const limit = 10_000
	for _, own := range []int{4 << 10, 100} {
		b := &Burst{Extra: NewReserve(limit)}
		b.Start(own)
		b.Out = append(append(b.Out, "whole"...), bytes.Repeat([]byte("p"), 50)...)
		taken := func() int { return b.Extra.Stats().Taken }
		leave := func() {
			t.Helper()
			r := b.TakeReply()
			if string(r.Rest()) != "whole" {
				t.Errorf("%q leaves", r.Rest())
			}
			r.Release()
		}
		if b.SetAside(0) || !b.SetAside(5) || taken() != 50 {
			t.Fatalf("%d bytes are taken for what is set aside", taken())
		}
		leave()
		b.Start(20)
		if b.SetAside(0) || string(b.Out) != strings.Repeat("p", 50) || taken() != cap(b.Out)-20 {
			t.Errorf("%q is back; %d bytes are taken for a buffer of %d", b.Out, taken(), cap(b.Out))
		}
		b.Out = append(b.Out[:0], "wholepp"...)
		if !b.SetAside(5) {
			t.Error("no room for two bytes")
		}
		leave()
		b.GiveUp()
		if taken() != 0 {
			t.Errorf("%d bytes are still taken", taken())
		}
		if !b.Extra.TryTake(limit) {
			t.Fatal("the reserve is not empty")
		}
		b.Start(own)
		if b.Out = append(b.Out, "wholepp"...); b.SetAside(5) || string(b.Out) != "wholepp" {
			t.Errorf("%q stays without room", b.Out)
		}
	}
}
