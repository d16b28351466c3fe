package verify

import (
	"encoding/binary"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"darboux/handlers/riemann/pb"
	"darboux/loadtest/result"
	"darboux/loadtest/run"
	"darboux/loadtest/stub"
	"darboux/loadtest/workload"

	"google.golang.org/protobuf/proto"
)

// memory is a server that acknowledges everything and keeps what keep tells.
type memory struct {
	mu     sync.Mutex
	n      int
	keep   func(n int, e *pb.Event) bool
	reject func(n int) bool
	events map[[2]string]*pb.Event
}

func (m *memory) serve(r stub.Request) stub.Answer {
	m.mu.Lock()
	defer m.mu.Unlock()
	var request, reply pb.Msg
	if err := proto.Unmarshal(r.Body, &request); err != nil {
		panic(err)
	}
	m.n++
	reply.Ok = proto.Bool(m.reject == nil || !m.reject(m.n))
	for _, e := range request.Events {
		if reply.GetOk() && m.keep(m.n, e) {
			m.events[[2]string{e.GetHost(), e.GetService()}] = e
		}
	}
	if request.Query != nil {
		for key, e := range m.events {
			if request.Query.GetString_() == `host = "`+key[0]+`"` {
				reply.Events = append(reply.Events, e)
			}
		}
	}
	body, err := proto.Marshal(&reply)
	if err != nil {
		panic(err)
	}
	return stub.Answer{After: time.Millisecond, Reply: append(binary.BigEndian.AppendUint32(nil, uint32(len(body))), body...)}
}

func load(t *testing.T, metric string) *workload.Workload {
	t.Helper()
	w, err := workload.New(workload.Config{
		Prefix: "load", Hosts: 10, Services: 4, Batch: 5, Metric: metric, Times: "both", TTL: time.Hour, Seed: 1,
	}, 4)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func runAndVerify(t *testing.T, m *memory, metric string) *result.Verify {
	t.Helper()
	m.events = map[[2]string]*pb.Event{{"somebody", "else"}: {Host: proto.String("somebody")}}
	s := &stub.Server{Serve: m.serve}
	w := load(t, metric)
	book := workload.NewBook(w)
	out, err := run.Run(t.Context(), run.Config{
		Dial: s.Dial, Workload: w, Book: book, Connections: 4, Pipeline: 3,
		Duration: time.Second, Timeout: 5 * time.Second, Sleeper: func() (run.Sleeper, error) { return stub.Sleeper{}, nil },
	})
	if err != nil || out.Total.All.OK == 0 {
		t.Fatalf("%+v, %v", out, err)
	}
	return Index(t.Context(), s.Dial, w, book, time.Minute)
}

func keepAll(int, *pb.Event) bool { return true }

func TestAnHonestServerPasses(t *testing.T) {
	for _, metric := range []string{"sint64", "d", "sint64+f", "d+f"} {
		synctest.Test(t, func(t *testing.T) {
			if v := runAndVerify(t, &memory{keep: keepAll}, metric); !v.OK || v.Keys != 40 || v.Right != 40 || v.Unknown != 0 {
				t.Errorf("%s: %+v", metric, v)
			}
		})
	}
}

// An index that was filled is verified, too, and if nothing is acknowledged there is nothing
// that could pass.
func TestFilledEntriesAreVerified(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &memory{keep: keepAll, events: map[[2]string]*pb.Event{}}
		s, w := &stub.Server{Serve: m.serve}, load(t, "d")
		book := workload.NewBook(w)
		if v := Index(t.Context(), s.Dial, w, book, time.Minute); v.OK || v.Error == "" {
			t.Errorf("a verify of nothing: %+v", v)
		}
		if err := run.Fill(t.Context(), s.Dial, w, time.Minute); err != nil {
			t.Fatal(err)
		}
		book.Filled()
		if v := Index(t.Context(), s.Dial, w, book, time.Minute); !v.OK || v.Keys != 40 || v.Right != 40 {
			t.Errorf("a filled index: %+v", v)
		}
		for key := range m.events {
			delete(m.events, key)
			break
		}
		if v := Index(t.Context(), s.Dial, w, book, time.Minute); v.OK || v.Absent != 1 {
			t.Errorf("one filled entry is gone: %+v", v)
		}
	})
}

// What was rejected need not be there; what was acknowledged must.
func TestRejectionsAreNoPromises(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &memory{keep: keepAll, reject: func(n int) bool { return n%3 == 0 && n < 300 }}
		if v := runAndVerify(t, m, "d"); !v.OK || v.Right != v.Keys || v.Keys == 0 {
			t.Errorf("%+v", v)
		}
	})
}

func TestAServerThatForgetsIsCaught(t *testing.T) {
	for name, test := range map[string]struct {
		keep          func(n int, e *pb.Event) bool
		absent, wrong bool
	}{
		"keeps nothing":         {func(int, *pb.Event) bool { return false }, true, false},
		"forgets one service":   {func(_ int, e *pb.Event) bool { return e.GetService() != "service-2" }, true, false},
		"stops keeping":         {func(n int, _ *pb.Event) bool { return n < 500 }, false, true},
		"keeps another's value": {func(_ int, e *pb.Event) bool { e.MetricD = proto.Float64(1); return true }, false, true},
	} {
		synctest.Test(t, func(t *testing.T) {
			v := runAndVerify(t, &memory{keep: test.keep}, "d")
			if v.OK || (v.Absent > 0) != test.absent || (v.Wrong > 0) != test.wrong || len(v.Samples) == 0 {
				t.Errorf("%s: %+v", name, v)
			}
			if v.Right+v.Wrong+v.Absent != v.Keys {
				t.Errorf("%s: %d right, %d wrong, %d absent of %d", name, v.Right, v.Wrong, v.Absent, v.Keys)
			}
		})
	}
}

func TestEntriesNeverSentAreUnknown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &memory{keep: keepAll, events: map[[2]string]*pb.Event{
			{"load-003", "service-1"}: {Host: proto.String("load-003"), Service: proto.String("service-1")},
			{"load-003", "other"}:     {Host: proto.String("load-003"), Service: proto.String("other")},
		}}
		w := load(t, "d")
		book := workload.NewBook(w)
		s := &stub.Server{Serve: m.serve}
		if v := Index(t.Context(), s.Dial, w, book, time.Minute); v.OK || v.Keys != 0 || s.Dials() != 1 {
			t.Errorf("nothing sent: %+v", v)
		}
		w.Source(0, book).Append(new(workload.Outbox), 1, 1) // sends, but not to all keys of its hosts
		v := Index(t.Context(), s.Dial, w, book, time.Minute)
		if v.Absent != 0 || v.Wrong != 0 {
			t.Errorf("%+v", v)
		}
	})
}

func TestABrokenConnectionIsToldAndFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := load(t, "d")
		book := workload.NewBook(w)
		w.Source(0, book).Append(new(workload.Outbox), 1, 1)
		for name, answer := range map[string]stub.Answer{
			"closes":  {Close: true},
			"rejects": {Reply: []byte{0, 0, 0, 2, 0x10, 0}},
			"garbage": {Reply: []byte{0, 0, 0, 1, 0xff}},
			"huge":    {Reply: []byte{0xff, 0, 0, 0}},
			"silent":  {After: time.Hour},
		} {
			s := &stub.Server{Serve: func(stub.Request) stub.Answer { return answer }}
			if v := Index(t.Context(), s.Dial, w, book, time.Minute); v.OK || !strings.Contains(v.Error, "load-") {
				t.Errorf("%s: %+v", name, v)
			}
		}
	})
}
