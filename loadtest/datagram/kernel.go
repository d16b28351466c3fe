package datagram

import (
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"
)

// loopbackDrops is where the kernel counts what its loopback device dropped on the way
// to a socket.
const loopbackDrops = "/sys/class/net/lo/statistics/rx_dropped"

// DroppedByDevice is what the loopback device dropped since the machine's start, of
// anybody's.
func DroppedByDevice() (int64, error) {
	b, err := os.ReadFile(loopbackDrops)
	if err != nil {
		return 0, err
	}
	return strconv.ParseInt(strings.TrimSpace(string(b)), 10, 64)
}

// DroppedBySockets is what the sockets bound to an address's port dropped since they
// were opened (proc_net_udp(5): the last column).
func DroppedBySockets(address string) (int64, error) {
	_, port, err := net.SplitHostPort(address)
	if err != nil {
		return 0, err
	}
	number, err := strconv.ParseUint(port, 10, 16)
	if err != nil {
		return 0, err
	}
	sum, found := int64(0), false
	for _, table := range []string{"/proc/net/udp", "/proc/net/udp6"} {
		b, err := os.ReadFile(table)
		if err != nil {
			return 0, err
		}
		n, ok, err := parseSockets(string(b), uint16(number))
		if err != nil {
			return 0, fmt.Errorf("%s: %w", table, err)
		}
		sum, found = sum+n, found || ok
	}
	if !found {
		return 0, fmt.Errorf("nobody receives datagrams at %s", address)
	}
	return sum, nil
}

// parseSockets adds the drops of the unconnected sockets at a port.
func parseSockets(table string, port uint16) (drops int64, found bool, err error) {
	local := fmt.Sprintf(":%04X", port)
	for line := range strings.Lines(table) {
		fields := strings.Fields(line)
		if len(fields) < 13 || !strings.HasSuffix(fields[1], local) || !strings.HasSuffix(fields[2], ":0000") {
			continue
		}
		n, err := strconv.ParseInt(fields[len(fields)-1], 10, 64)
		if err != nil {
			return 0, false, err
		}
		drops, found = drops+n, true
	}
	return drops, found, nil
}
