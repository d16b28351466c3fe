package main

import (
	"net/netip"
	"regexp"
	"strconv"
)

// Kubernetes gives each container variables for every service of its namespace; those of
// a service named darboux, or darboux-something, begin as our own do.
var serviceVariables = []struct {
	name *regexp.Regexp
	fits func(text string) bool
}{
	{regexp.MustCompile(`^DARBOUX_([A-Z0-9_]+_)?SERVICE_HOST$`), isIP},
	{regexp.MustCompile(`^DARBOUX_([A-Z0-9_]+_)?SERVICE_PORT(_[A-Z0-9_]+)?$`), isPort},
	{regexp.MustCompile(`^DARBOUX_([A-Z0-9_]+_)?PORT(_[0-9]+_(TCP|UDP|SCTP))?$`), serviceURL.MatchString},
	{regexp.MustCompile(`^DARBOUX_([A-Z0-9_]+_)?PORT_[0-9]+_(TCP|UDP|SCTP)_PROTO$`), serviceProtocol.MatchString},
	{regexp.MustCompile(`^DARBOUX_([A-Z0-9_]+_)?PORT_[0-9]+_(TCP|UDP|SCTP)_PORT$`), isPort},
	{regexp.MustCompile(`^DARBOUX_([A-Z0-9_]+_)?PORT_[0-9]+_(TCP|UDP|SCTP)_ADDR$`), isIP},
}

var (
	serviceURL      = regexp.MustCompile(`^(tcp|udp|sctp)://.+:[0-9]+$`)
	serviceProtocol = regexp.MustCompile(`^(tcp|udp|sctp)$`)
)

// tellsOfService reports whether a variable has the name and the value by which Kubernetes
// tells of a service. Anything else that begins as our variables do is a mistake.
func tellsOfService(name, text string) bool {
	for _, v := range serviceVariables {
		if v.name.MatchString(name) && v.fits(text) {
			return true
		}
	}
	return false
}

func isIP(text string) bool {
	_, err := netip.ParseAddr(text)
	return err == nil
}

func isPort(text string) bool {
	n, err := strconv.ParseUint(text, 10, 16)
	return err == nil && n > 0
}
