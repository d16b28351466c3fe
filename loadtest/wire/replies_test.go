package wire

import (
	"bytes"
	"strings"
	"testing"

	"darboux/handlers/riemann/pb"

	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"
)

func framed(t *testing.T, m *pb.Msg) []byte {
	t.Helper()
	body, err := proto.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	return append([]byte{byte(len(body) >> 24), byte(len(body) >> 16), byte(len(body) >> 8), byte(len(body))}, body...)
}

type seen struct {
	outcome Outcome
	reason  string
}

// cut feeds the stream in the pieces given and returns what came out.
func cut(stream []byte, pieces []int) []seen {
	var r Replies
	var out []seen
	for _, n := range pieces {
		piece := stream[:min(n, len(stream))]
		stream = stream[len(piece):]
		for len(piece) > 0 {
			if acks := r.Acks(piece); acks > 0 {
				for range acks {
					out = append(out, seen{outcome: OK})
				}
				piece = piece[acks*ackLen:]
				continue
			}
			used, o := r.Next(piece)
			piece = piece[used:]
			if o != Partial {
				s := seen{outcome: o}
				if o == Rejected {
					s.reason = r.Reason()
				}
				out = append(out, s)
			}
		}
	}
	return out
}

// Any sequence of replies, cut anywhere, gives the same outcomes.
func TestRepliesCutAnywhere(t *testing.T) {
	ack := framed(t, &pb.Msg{Ok: proto.Bool(true)})
	big := &pb.Msg{Ok: proto.Bool(true)}
	for range 50 {
		big.Events = append(big.Events, &pb.Event{Description: proto.String(strings.Repeat("x", 100))})
	}
	long := strings.Repeat("y", 3000)
	kinds := []struct {
		frame []byte
		want  seen
	}{
		{ack, seen{outcome: OK}},
		{framed(t, big), seen{outcome: OK}},
		{framed(t, &pb.Msg{Ok: proto.Bool(false), Error: proto.String("parse error: at 1")}), seen{Rejected, "parse error: at 1"}},
		{framed(t, &pb.Msg{Ok: proto.Bool(false)}), seen{Rejected, ""}},
		{framed(t, &pb.Msg{Ok: proto.Bool(false), Error: &long}), seen{Rejected, long[:keptText-5]}},
		{framed(t, &pb.Msg{}), seen{outcome: Malformed}},
		{[]byte{0, 0, 0, 1, 0x10}, seen{outcome: Malformed}},
		{framed(t, &pb.Msg{Error: proto.String("no ok")}), seen{outcome: Malformed}},
	}
	rapid.Check(t, func(t *rapid.T) {
		var stream []byte
		var want []seen
		for _, k := range rapid.SliceOfN(rapid.IntRange(0, len(kinds)-1), 1, 30).Draw(t, "kinds") {
			stream = append(stream, kinds[k].frame...)
			want = append(want, kinds[k].want)
		}
		pieces := rapid.SliceOfN(rapid.IntRange(1, 40), 0, 200).Draw(t, "pieces")
		got := cut(stream, append(pieces, len(stream)))
		if len(got) != len(want) {
			t.Fatalf("%d replies, want %d", len(got), len(want))
		}
		for i := range want {
			if got[i] != want[i] {
				t.Fatalf("reply %d: %v, want %v", i, got[i], want[i])
			}
		}
	})
}

func TestAcksStopAtAnythingElse(t *testing.T) {
	ack := []byte{0, 0, 0, 2, 0x10, 1}
	for _, test := range []struct {
		b    []byte
		want int
	}{
		{nil, 0},
		{ack[:5], 0},
		{ack, 1},
		{bytes.Repeat(ack, 7), 7},
		{append(bytes.Repeat(ack, 3), 0, 0, 0), 3},
		{append(bytes.Repeat(ack, 2), 0, 0, 0, 2, 0x10, 0), 2},
		{append(bytes.Repeat(ack, 2), 0, 0, 0, 3, 0x10, 1, 0), 2},
	} {
		var r Replies
		if got := r.Acks(test.b); got != test.want {
			t.Errorf("% x: %d acks, want %d", test.b, got, test.want)
		}
	}
}

func FuzzReplies(f *testing.F) {
	f.Add([]byte{0, 0, 0, 2, 0x10, 1, 0, 0, 0, 4, 0x10, 0, 0x1a, 0})
	f.Add([]byte{0xff, 0xff, 0xff, 0xff, 0x10, 0, 0x1a, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1})
	f.Fuzz(func(t *testing.T, stream []byte) {
		whole := cut(stream, []int{len(stream)})
		ones := make([]int, len(stream))
		for i := range ones {
			ones[i] = 1
		}
		single := cut(stream, ones)
		if len(whole) != len(single) {
			t.Fatalf("%d replies from the whole, %d byte by byte", len(whole), len(single))
		}
		for i := range whole {
			if whole[i] != single[i] {
				t.Fatalf("reply %d: %v from the whole, %v byte by byte", i, whole[i], single[i])
			}
		}
	})
}

func BenchmarkAcks(b *testing.B) {
	stream := bytes.Repeat([]byte{0, 0, 0, 2, 0x10, 1}, 1000)
	var r Replies
	b.ReportAllocs()
	for b.Loop() {
		if r.Acks(stream) != 1000 {
			b.Fatal("acks are not recognized")
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/1000, "ns/ack")
}
