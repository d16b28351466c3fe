package naive

import (
	"fmt"
	"regexp"
)

// selection is a query taken apart: nil matches everything.
type selection struct {
	host, service *string
}

var (
	everything = regexp.MustCompile(`^\s*true\s*$`)
	oneField   = regexp.MustCompile(`^\s*(host|service)\s*=\s*"([^"\\]*)"\s*$`)
	twoFields  = regexp.MustCompile(`^\s*(host|service)\s*=\s*"([^"\\]*)"\s+and\s+(host|service)\s*=\s*"([^"\\]*)"\s*$`)
)

func parse(text string) (selection, error) {
	if everything.MatchString(text) {
		return selection{}, nil
	}
	if m := oneField.FindStringSubmatch(text); m != nil {
		var s selection
		s.set(m[1], m[2])
		return s, nil
	}
	if m := twoFields.FindStringSubmatch(text); m != nil && m[1] != m[3] {
		var s selection
		s.set(m[1], m[2])
		s.set(m[3], m[4])
		return s, nil
	}
	return selection{}, fmt.Errorf("parse error: not a query that this server knows: %q", text)
}

func (s *selection) set(field, value string) {
	if field == "host" {
		s.host = &value
	} else {
		s.service = &value
	}
}

func (s selection) match(k key) bool {
	return (s.host == nil || *s.host == k.host) && (s.service == nil || *s.service == k.service)
}
