package index

import (
	"fmt"
	"strings"

	"darboux/handlers/riemann"
)

// keepNames are the words for what the notice of an expiry may keep.
var keepNames = []struct {
	name   string
	fields riemann.Fields
}{
	{"host", riemann.HasHost},
	{"service", riemann.HasService},
	{"description", riemann.HasDescription},
	{"metric", riemann.HasSint64 | riemann.HasD | riemann.HasF},
	{"ttl", riemann.HasTTL},
	{"tags", riemann.HasTags},
	{"attributes", riemann.HasAttributes},
}

// ParseKeep returns the fields that these words name, for Config.ExpireKeep:
// host, service, description, metric, ttl, tags, attributes, or all. State and
// time are not among them: a notice has its own.
func ParseKeep(names []string) (riemann.Fields, error) {
	var keep riemann.Fields
	for _, name := range names {
		fields := keepNamed(name)
		if fields == 0 {
			return 0, fmt.Errorf("%q is no field that a notice of an expiry can keep; there are %s", name, allKeepNames())
		}
		keep |= fields
	}
	return keep, nil
}

func keepNamed(name string) (fields riemann.Fields) {
	for _, k := range keepNames {
		if name == k.name || name == "all" {
			fields |= k.fields
		}
	}
	return fields
}

func allKeepNames() string {
	var names []string
	for _, k := range keepNames {
		names = append(names, k.name)
	}
	return strings.Join(names, ", ") + " and all"
}

// appendExpired appends the wire bytes of the notice that e, a stored view,
// expired at now: the state "expired", that time, and of e what keep says.
func appendExpired(dst []byte, e *riemann.Event, keep riemann.Fields, now int64) []byte {
	r := riemann.Record{
		Set:        riemann.HasState | riemann.HasTime | riemann.HasTimeMicros | e.Set&keep,
		State:      "expired",
		Time:       now / 1e6,
		TimeMicros: now,
		Sint64:     e.Sint64,
		D:          e.D,
		F:          e.F,
		TTL:        e.TTL,
	}
	if keep&riemann.HasHost != 0 {
		r.Host = string(e.HostBytes())
	}
	if keep&riemann.HasService != 0 {
		r.Service = string(e.ServiceBytes())
	}
	if keep&riemann.HasDescription != 0 {
		r.Description = string(e.DescriptionBytes())
	}
	if keep&riemann.HasTags != 0 {
		for it := e.Tags(); it.Next(); {
			r.Tags = append(r.Tags, string(it.Tag))
		}
	}
	if keep&riemann.HasAttributes != 0 {
		for it := e.Attributes(); it.Next(); {
			r.Attributes = append(r.Attributes, riemann.Pair{Key: string(it.Key), Value: string(it.Value)})
		}
	}
	return r.AppendEvent(dst)
}
