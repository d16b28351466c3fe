package query

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"darboux/handlers/riemann"
)

// ways writes lookups, one after the other.
func ways(all []Lookup) string {
	var each []string
	for _, l := range all {
		switch l.By {
		case ByNothing:
			each = append(each, "nothing")
		case ByKey:
			each = append(each, fmt.Sprintf("key %s %s", text(l.Host), text(l.Service)))
		case ByAny:
			var terms []string
			for _, term := range l.Any {
				terms = append(terms, ways(term))
			}
			each = append(each, "any of ["+strings.Join(terms, " | ")+"]")
		default:
			each = append(each, l.By.String()+" "+text(l.Value))
		}
	}
	return strings.Join(each, ", ")
}

func text(b []byte) string {
	if b == nil {
		return "nil"
	}
	return fmt.Sprintf("%q", b)
}

func TestLookups(t *testing.T) {
	for _, row := range []struct{ text, want string }{
		{`host = "a"`, `host "a"`},
		{`"a" = host`, `host "a"`},
		{`host = ""`, `host ""`},
		{`host = nil`, `host nil`},
		{`not host`, `host nil`},
		{`host = "a" and service = "b"`, `key "a" "b", host "a", service "b"`},
		{`service = "b" and (host = "a" and metric > 1)`, `key "a" "b", service "b", host "a"`},
		{`host = "a" and service = nil`, `key "a" nil, host "a", service nil`},
		{`state = "critical"`, `state "critical"`},
		{`tagged "x" and metric > 1`, `tag "x"`},
		{`host =~ "web%"`, `host prefix "web"`},
		{`service =~ "disk"`, `service prefix "disk"`},
		{`service =~ "disk%a%"`, `service prefix "disk"`},
		{`service =~ "%x"`, ``},
		{`state =~ "x%"`, ``},
		{`region = "eu"`, ``},
		{`not host = "a"`, ``},
		{`host != "a"`, ``},
		{`host = service`, ``},
		{`true`, ``},
		{`false`, `nothing`},
		{`host = 1`, `nothing`},
		{`host = "a" and false`, `nothing`},
		{`false or host = "a"`, `host "a"`},
		{`host = "a" or host = "b"`, `any of [host "a" | host "b"]`},
		{`host = "a" or (tagged "x" and service =~ "d%")`, `any of [host "a" | tag "x", service prefix "d"]`},
		{`host = "a" or metric > 1`, ``},
		{`(host = "a" or host = "b") and state = "ok"`, `any of [host "a" | host "b"], state "ok"`},
		{`not (host != "a" or service != "b")`, ``},
	} {
		q, err := Compile(row.text)
		if err != nil {
			t.Errorf("%s: %v", row.text, err)
		} else if got := ways(q.Lookups()); got != row.want {
			t.Errorf("%s: %s, want %s", row.text, got, row.want)
		}
	}
}

// names reports whether l names e.
func (l Lookup) names(e *riemann.Event) bool {
	same := func(a, b []byte) bool { return (a == nil) == (b == nil) && bytes.Equal(a, b) }
	switch l.By {
	case ByKey:
		return same(e.HostBytes(), l.Host) && same(e.ServiceBytes(), l.Service)
	case ByHost:
		return same(e.HostBytes(), l.Value)
	case ByService:
		return same(e.ServiceBytes(), l.Value)
	case ByState:
		return same(e.StateBytes(), l.Value)
	case ByTag:
		return e.Tagged(string(l.Value))
	case ByHostPrefix:
		return bytes.HasPrefix(e.HostBytes(), l.Value)
	case ByServicePrefix:
		return bytes.HasPrefix(e.ServiceBytes(), l.Value)
	case ByAny:
		for _, term := range l.Any {
			for i, way := range term {
				// Of a term's ways one will do, so all must name its matches.
				if !way.names(e) {
					break
				}
				if i == len(term)-1 {
					return true
				}
			}
		}
	}
	return false
}

// TestLookupsMissNothing: whatever a query matches, each of its lookups names.
func TestLookupsMissNothing(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		tree := anyPredicate(2).Draw(rt, "query")
		q, err := Compile(tree.String())
		if err != nil {
			rt.Fatal(err)
		}
		for _, event := range rapid.SliceOfN(anyEvent(), 1, 10).Draw(rt, "events") {
			e := received(t, event)
			if !q.Match(e) {
				continue
			}
			for _, l := range q.Lookups() {
				if !l.names(e) {
					rt.Errorf("%s matches %v, which %s does not name", tree, event, ways([]Lookup{l}))
				}
			}
		}
	})
}
