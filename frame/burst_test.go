package frame

import (
	"bytes"
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
