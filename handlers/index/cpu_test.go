package index

import (
	gometrics "runtime/metrics"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// threadCPU is the CPU time of the calling thread: what others do on the machine
// disturbs it less than wall time. The goroutine must be locked to its thread.
func threadCPU(tb testing.TB) time.Duration {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &t); err != nil {
		tb.Fatal(err)
	}
	return time.Duration(t.Nano())
}

// processCPU is the CPU time of all threads.
func processCPU(tb testing.TB) time.Duration {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_PROCESS_CPUTIME_ID, &t); err != nil {
		tb.Fatal(err)
	}
	return time.Duration(t.Nano())
}

// markCPU is the CPU time that the collector's own goroutines have taken so far, as of the
// last collection; what it did in the time of idle processors isn't in it.
func markCPU() time.Duration {
	sample := []gometrics.Sample{{Name: "/cpu/classes/gc/mark/dedicated:cpu-seconds"}}
	gometrics.Read(sample)
	return time.Duration(sample[0].Value.Float64() * float64(time.Second))
}
