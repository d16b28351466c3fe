package query

import (
	"fmt"
	"math"
	"math/big"
	"slices"
	"strings"
	"sync"

	"darboux/handlers/query/javare"
	"darboux/handlers/riemann/pb"
)

// naive is the language told again, as plainly as it can be: it walks a query's
// tree over an event that protobuf decoded. It is what the compiled queries are
// compared with.
type naive struct {
	*pb.Event
	// stored tells that the server has given the event a time and a ttl.
	stored     bool
	defaultTTL float32
}

// get is a field as nil, bool, string, *big.Int, float64 or []string.
func (n naive) get(name string) any {
	switch name {
	case "host":
		return optional(n.Host)
	case "service":
		return optional(n.Service)
	case "state":
		return optional(n.State)
	case "description":
		return optional(n.Description)
	case "tags":
		if len(n.Tags) > 0 {
			return n.Tags
		}
		return nil
	case "metric":
		return n.metric()
	case "time":
		return n.time()
	case "ttl":
		return n.ttl()
	}
	for _, a := range slices.Backward(n.Attributes) {
		if a.GetKey() == name {
			return a.GetValue()
		}
	}
	return nil
}

func optional(s *string) any {
	if s == nil {
		return nil
	}
	return *s
}

func (n naive) metric() any {
	switch {
	case n.MetricSint64 != nil:
		return big.NewInt(*n.MetricSint64)
	case n.MetricD != nil:
		return *n.MetricD
	case n.MetricF != nil:
		return float64(*n.MetricF)
	}
	return nil
}

func (n naive) time() any {
	switch {
	case n.TimeMicros != nil:
		return float64(*n.TimeMicros) / 1e6
	case n.Time != nil:
		return big.NewInt(*n.Time)
	case n.stored:
		return float64(testNow) / 1e6
	}
	return nil
}

func (n naive) ttl() any {
	switch {
	case n.Ttl != nil:
		return float64(*n.Ttl)
	case n.stored && n.defaultTTL == float32(math.Trunc(float64(n.defaultTTL))):
		return big.NewInt(int64(n.defaultTTL))
	case n.stored:
		return float64(n.defaultTTL)
	}
	return nil
}

func (n naive) value(v value) any {
	switch v.kind {
	case isField:
		return n.get(v.text)
	case isText:
		return v.text
	case isInteger:
		return big.NewInt(v.integer)
	case isBig:
		return v.big
	case isFloat:
		return v.float
	case isTruth:
		return v.truth
	}
	return nil
}

func (n naive) matches(p predicate) bool {
	switch p := p.(type) {
	case and:
		return !slices.ContainsFunc(p.terms, func(t predicate) bool { return !n.matches(t) })
	case or:
		return slices.ContainsFunc(p.terms, n.matches)
	case not:
		return !n.matches(p.term)
	case tagged:
		return slices.Contains(n.Tags, p.tag)
	case like:
		text, ok := n.value(p.left).(string)
		return ok && mustCompile(likeAsRegexp(p.pattern)).Match([]byte(text))
	case match:
		text, ok := n.value(p.left).(string)
		return ok && mustCompile(p.pattern).Match([]byte(text))
	case present:
		v := n.value(p.of)
		return v != nil && v != false
	case compare:
		return n.compare(p)
	}
	panic(fmt.Sprintf("%T", p))
}

func (n naive) compare(p compare) bool {
	a, b := n.value(p.left), n.value(p.right)
	same := p.left.kind == isField && p.right.kind == isField && p.left.text == p.right.text
	switch p.op {
	case equal:
		return same || naiveEqual(a, b)
	case notEqual:
		return !same && !naiveEqual(a, b)
	}
	return naiveOrdered(p.op, a, b)
}

func naiveEqual(a, b any) bool {
	switch a := a.(type) {
	case *big.Int:
		b, ok := b.(*big.Int)
		return ok && a.Cmp(b) == 0
	case []string:
		return false // of another field: no other is a list
	}
	if _, ok := b.([]string); ok {
		return false
	}
	return a == b
}

func naiveOrdered(op operator, a, b any) bool {
	x, xInt := a.(*big.Int)
	y, yInt := b.(*big.Int)
	if xInt && yInt {
		return op.of(x.Cmp(y))
	}
	f, ok := naiveFloat(a)
	g, ok2 := naiveFloat(b)
	return ok && ok2 && holds(op, f, g)
}

func naiveFloat(v any) (float64, bool) {
	switch v := v.(type) {
	case *big.Int:
		f, _ := new(big.Float).SetInt(v).Float64()
		return f, true
	case float64:
		return v, true
	}
	return 0, false
}

// likeAsRegexp is what Riemann makes of a pattern of =~.
func likeAsRegexp(pattern string) string {
	var b strings.Builder
	b.WriteByte('^')
	for i, part := range strings.Split(pattern, "%") {
		if i > 0 {
			b.WriteString(".*")
		}
		b.WriteString(`\Q` + strings.ReplaceAll(part, `\E`, `\E\\E\Q`) + `\E`)
	}
	b.WriteByte('$')
	return b.String()
}

// compiledPatterns keeps what mustCompile compiled: it is asked for each event.
var compiledPatterns sync.Map

func mustCompile(pattern string) *javare.Regexp {
	if re, ok := compiledPatterns.Load(pattern); ok {
		return re.(*javare.Regexp)
	}
	re, err := javare.Compile(pattern)
	if err != nil {
		panic(err)
	}
	compiledPatterns.Store(pattern, re)
	return re
}
