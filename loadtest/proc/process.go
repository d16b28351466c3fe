// Package proc reads what processes use: a server's CPU and memory and the
// machine's facts from /proc, and this program's own CPU, garbage collection
// and scheduling lag.
package proc

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

// tick is the unit of the times in /proc. The kernel reports in hundredths of a
// second to user space whatever its own clock does.
const tick = 10 * time.Millisecond

// Usage is what a process has used since its start.
type Usage struct {
	CPU  time.Duration // user and system, all threads
	RSS  int64         // bytes resident now
	Peak int64         // bytes resident at most
}

// Of reads the usage of a process, to a hundredth of a CPU second.
func Of(pid int) (Usage, error) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return Usage{}, err
	}
	var u Usage
	if u.CPU, err = parseStat(string(stat)); err != nil {
		return Usage{}, fmt.Errorf("/proc/%d/stat: %w", pid, err)
	}
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return Usage{}, err
	}
	u.RSS, u.Peak = kilobytes(string(status), "VmRSS:"), kilobytes(string(status), "VmHWM:")
	return u, nil
}

// parseStat adds the 14th and 15th fields. The second, a name in parentheses,
// may hold anything, so counting starts behind the last parenthesis.
func parseStat(stat string) (time.Duration, error) {
	end := strings.LastIndexByte(stat, ')')
	fields := strings.Fields(stat[end+1:])
	if end < 0 || len(fields) < 13 {
		return 0, fmt.Errorf("no times in %q", stat)
	}
	user, err := strconv.ParseInt(fields[11], 10, 64)
	if err != nil {
		return 0, err
	}
	system, err := strconv.ParseInt(fields[12], 10, 64)
	if err != nil {
		return 0, err
	}
	return time.Duration(user+system) * tick, nil
}

// kilobytes reads a line such as "VmRSS:  1234 kB", 0 if there is none (a
// process that has ended has no memory).
func kilobytes(status, name string) int64 {
	_, rest, found := strings.Cut(status, name)
	if !found {
		return 0
	}
	fields := strings.Fields(rest)
	if len(fields) == 0 {
		return 0
	}
	n, err := strconv.ParseInt(fields[0], 10, 64)
	if err != nil {
		return 0
	}
	return n << 10
}
