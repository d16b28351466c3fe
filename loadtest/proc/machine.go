package proc

import (
	"bufio"
	"os"
	"runtime"
	"strconv"
	"strings"
	"time"

	"darboux/loadtest/result"

	"golang.org/x/sys/unix"
)

// Machine describes this machine. What cannot be read stays empty.
func Machine() result.Machine {
	m := result.Machine{Cores: runtime.NumCPU(), OS: runtime.GOOS + "/" + runtime.GOARCH}
	if b, err := os.ReadFile("/proc/cpuinfo"); err == nil {
		m.CPU = valueOf(string(b), "model name")
	}
	if b, err := os.ReadFile("/proc/meminfo"); err == nil {
		m.Memory = kilobytes(string(b), "MemTotal:")
	}
	var name unix.Utsname
	if err := unix.Uname(&name); err == nil {
		m.Kernel = unix.ByteSliceToString(name.Release[:])
	}
	return m
}

// valueOf finds "name : value" at the beginning of a line.
func valueOf(text, name string) string {
	lines := bufio.NewScanner(strings.NewReader(text))
	for lines.Scan() {
		key, value, found := strings.Cut(lines.Text(), ":")
		if found && strings.TrimSpace(key) == name {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

// Busy is how long the machine's cores have worked since its start, and how
// long there were.
type Busy struct{ Worked, Total time.Duration }

// MachineBusy reads the first line of /proc/stat; zero if it can't be read.
func MachineBusy() Busy {
	b, err := os.ReadFile("/proc/stat")
	if err != nil {
		return Busy{}
	}
	line, _, _ := strings.Cut(string(b), "\n")
	return parseBusy(line)
}

// parseBusy takes "cpu user nice system idle iowait irq softirq steal …".
func parseBusy(line string) Busy {
	var all, idle int64
	for i, field := range strings.Fields(line) {
		n, err := strconv.ParseInt(field, 10, 64)
		if i == 0 || i > 8 || err != nil { // guest times are in user already
			continue
		}
		all += n
		if i == 4 || i == 5 {
			idle += n
		}
	}
	return Busy{time.Duration(all-idle) * tick, time.Duration(all) * tick}
}

// Share is the part of the machine's time since then that was worked, 0 to 1.
func (b Busy) Share(then Busy) float64 {
	total := b.Total - then.Total
	if total <= 0 {
		return 0
	}
	return float64(b.Worked-then.Worked) / float64(total)
}
