package query

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"darboux/handlers/riemann"
	"darboux/handlers/riemann/pb"
)

// typicalEvent has 185 bytes on the wire, as events of monitoring agents have.
func typicalEvent() *pb.Event {
	return &pb.Event{
		Host:        proto.String("web-017.fra1.example.com"),
		Service:     proto.String("disk /var/lib used"),
		State:       proto.String("critical"),
		Description: proto.String("42.5 % used, 18.0 GiB free of 3"),
		Time:        proto.Int64(1_700_000_000),
		TimeMicros:  proto.Int64(1_700_000_000_123_456),
		MetricD:     proto.Float64(0.425),
		MetricF:     proto.Float32(0.425),
		Ttl:         proto.Float32(20),
		Tags:        []string{"production", "storage"},
		Attributes: []*pb.Attribute{
			{Key: proto.String("region"), Value: proto.String("eu-central")},
			{Key: proto.String("datacenter"), Value: proto.String("fra")},
		},
	}
}

func TestTypicalEventHas185Bytes(t *testing.T) {
	if n := proto.Size(typicalEvent()); n != 185 {
		t.Errorf("%d bytes", n)
	}
}

// stopwatch takes the times of several ways in turns, so that all of them meet
// the same machine.
type stopwatch []*way

type way struct {
	name string
	work func()
	took []float64 // of each turn, in ns
}

// turn is how often one way is taken before the next one's turn comes.
const turn = 200

func (s stopwatch) round() {
	for _, w := range s {
		start := time.Now()
		for range turn {
			w.work()
		}
		w.took = append(w.took, float64(time.Since(start).Nanoseconds())/turn)
	}
}

// report gives the median time of each way, and its ratio to the first one's.
func (s stopwatch) report(b *testing.B) {
	for i, w := range s {
		slices.Sort(w.took)
		b.ReportMetric(w.median(), w.name+"-ns/event")
		if i > 0 {
			b.ReportMetric(w.median()/s[0].median(), w.name+"/"+s[0].name)
		}
	}
	b.ReportMetric(0, "ns/op")
}

func (w *way) median() float64 { return w.took[len(w.took)/2] }

// BenchmarkMatch compares, on events of 185 bytes that match: the bare walk over
// an event, the walk and the query, the query alone, and the naive evaluator on
// an event that was decoded before.
func BenchmarkMatch(b *testing.B) {
	for _, text := range []string{
		`state = "critical" and service =~ "disk%"`,
		`service ~= "^disk[0-9]+$"`,
		`host = "web-017.fra1.example.com"`,
		`tagged "storage"`,
		`region = "eu-central"`,
		`metric > 0.1 and ttl < 60`,
		`description =~ "%used%free%"`,
	} {
		b.Run(strings.ReplaceAll(text, " ", ""), func(b *testing.B) { benchmarkMatch(b, text) })
	}
}

func benchmarkMatch(b *testing.B, text string) {
	event := typicalEvent()
	if strings.Contains(text, "~=") {
		event.Service = proto.String("disk12345678901234")
	}
	raw, err := proto.Marshal(event)
	if err != nil {
		b.Fatal(err)
	}
	q, err := Compile(text)
	if err != nil {
		b.Fatal(err)
	}
	var walked, matched, parsed riemann.Event
	if err := parsed.Parse(raw); err != nil || !q.Match(&parsed) {
		b.Fatalf("%v, or no match", err)
	}
	slow := naive{Event: event}
	ways := stopwatch{
		{name: "walk", work: func() { walked.Parse(raw) }},
		{name: "walk+match", work: func() { matched.Parse(raw); q.Match(&matched) }},
		{name: "match", work: func() { q.Match(&parsed) }},
		{name: "naive", work: func() { slow.matches(q.tree) }},
	}
	if m, ok := q.tree.(match); ok {
		service := parsed.ServiceBytes()
		ways = append(ways, &way{name: "regexp", work: func() { m.regexp.Match(service) }})
	}
	if n := testing.AllocsPerRun(100, ways[1].work); n >= 1 {
		b.Errorf("%v allocations", n)
	}
	for b.Loop() {
		ways.round()
	}
	ways.report(b)
}

// BenchmarkCompile compiles a query of ten terms.
func BenchmarkCompile(b *testing.B) {
	const text = `(state = "critical" or state = "warning") and service =~ "disk%" and metric > 0.9 and not tagged "test" ` +
		`and (host = "a" or host = "b" or host =~ "web-%") and region != "eu" and ttl < 300`
	p, err := parse(text)
	if err != nil || p.terms != 10 {
		b.Fatal(err, p.terms)
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Compile(text); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkCompileWithRegexp is the same with one regular expression among the
// ten terms.
func BenchmarkCompileWithRegexp(b *testing.B) {
	text := `service ~= "^disk[0-9]+$"` + strings.Repeat(` or host = "abcdefgh"`, 9)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Compile(text); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkCacheHit asks for a query that is kept, alone and by all processors.
func BenchmarkCacheHit(b *testing.B) {
	c := NewCache(1000, 1<<20)
	texts := make([][]byte, 100)
	for i := range texts {
		texts[i] = fmt.Appendf(nil, `state = "critical" and service = "service %d"`, i)
		if _, err := c.Get(texts[i]); err != nil {
			b.Fatal(err)
		}
	}
	b.Run("alone", func(b *testing.B) {
		b.ReportAllocs()
		i := 0
		for b.Loop() {
			c.Get(texts[i%len(texts)])
			i++
		}
	})
	b.Run("parallel", func(b *testing.B) {
		b.ReportAllocs()
		b.RunParallel(func(pb *testing.PB) {
			for i := 0; pb.Next(); i++ {
				c.Get(texts[i%len(texts)])
			}
		})
	})
}

// BenchmarkWorstCompile is about the time that hostile texts take: each is as
// long, deep or wide as the limits allow.
func BenchmarkWorstCompile(b *testing.B) {
	for _, row := range []struct{ name, text string }{
		{"terms", "a" + strings.Repeat(" or host=a", MaxTerms-1)},
		{"parentheses", strings.Repeat("(", MaxDepth) + "a" + strings.Repeat(")", MaxDepth)},
		{"regexps", strings.Repeat(`a~="^a+$"or `, 3000) + "b"},
		{"digits", "a=" + strings.Repeat("9", MaxText-3) + "N"},
		{"classes", `a ~= "` + strings.Repeat(`\\p{L}`, 75) + `"`},
		{"lines", `a ~= "(?m)^` + strings.Repeat(`[^x]?`, 3000) + `$"`},
		{"steps", `a ~= "(?:a|b|c){1000}(?:a|b)"`},
	} {
		b.Run(row.name, func(b *testing.B) {
			for b.Loop() {
				Compile(row.text)
			}
		})
	}
}
