package proc

import (
	"math"
	"os"
	"testing"
	"time"
)

func TestParseStat(t *testing.T) {
	for _, test := range []struct {
		stat string
		want time.Duration
		bad  bool
	}{
		{"7 (darboux) S 1 2 3 4 5 6 7 8 9 10 150 50 0 0 20 0 8 0", 2 * time.Second, false},
		{"7 (a) b ) (c) S 1 2 3 4 5 6 7 8 9 10 1 2 0 0", 30 * time.Millisecond, false},
		{"7 (short) S 1 2", 0, true},
		{"", 0, true},
		{"7 (x) S 1 2 3 4 5 6 7 8 9 10 many 2 0", 0, true},
	} {
		got, err := parseStat(test.stat)
		if got != test.want || (err != nil) != test.bad {
			t.Errorf("%q: %v, %v", test.stat, got, err)
		}
	}
}

func TestKilobytesAndValues(t *testing.T) {
	const status = "Name:\tx\nVmHWM:\t    2048 kB\nVmRSS:\t 1024 kB\n"
	if peak, rss, none := kilobytes(status, "VmHWM:"), kilobytes(status, "VmRSS:"), kilobytes(status, "VmSwap:"); peak != 2<<20 || rss != 1<<20 || none != 0 {
		t.Errorf("peak %d, resident %d, swapped %d", peak, rss, none)
	}
	if got := valueOf("processor\t: 0\nmodel name\t: A CPU @ 3 GHz\n", "model name"); got != "A CPU @ 3 GHz" {
		t.Errorf("CPU %q", got)
	}
}

func TestBusy(t *testing.T) {
	a := parseBusy("cpu  100 0 100 700 100 0 0 0 50 0")
	b := parseBusy("cpu  150 0 150 750 150 0 0 0 90 0")
	if share := b.Share(a); math.Abs(share-0.5) > 1e-9 {
		t.Errorf("share %v, want 0.5", share)
	}
	if share := a.Share(a); share != 0 {
		t.Errorf("share over no time %v, want 0", share)
	}
}

// A process that works is seen to work, in its own eyes and in /proc.
func TestThisProcess(t *testing.T) {
	before, usage := Now(), mustUsage(t)
	sink := 0
	for deadline := time.Now().Add(20 * time.Second); ; {
		for i := range 1_000_000 {
			sink += i * i
		}
		if mustUsage(t).CPU-usage.CPU >= 3*tick {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("no CPU time seen in 20 s (%d)", sink)
		}
	}
	spent := Now().Since(before)
	if spent.CPU < tick || spent.CPU > 20*time.Second {
		t.Errorf("own CPU %v", spent.CPU)
	}
	if u := mustUsage(t); u.RSS < 1<<20 || u.Peak < u.RSS {
		t.Errorf("resident %d, peak %d", u.RSS, u.Peak)
	}
}

func mustUsage(t *testing.T) Usage {
	t.Helper()
	u, err := Of(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	return u
}

func TestGrowthQuantiles(t *testing.T) {
	g := growth{counts: []uint64{0, 90, 9, 1}, buckets: []float64{math.Inf(-1), 0, 1e-6, 1e-3, math.Inf(1)}, total: 100}
	for _, test := range []struct {
		q    float64
		want time.Duration
	}{{0.5, time.Microsecond}, {0.99, time.Millisecond}, {1, time.Millisecond}} {
		if got := g.quantile(test.q); got != test.want {
			t.Errorf("quantile %v: %v, want %v", test.q, got, test.want)
		}
	}
	if got := (growth{}).quantile(0.99); got != 0 {
		t.Errorf("of nothing: %v", got)
	}
}

func TestMachineIsDescribed(t *testing.T) {
	m := Machine()
	if m.CPU == "" || m.Cores < 1 || m.Memory < 1<<20 || m.Kernel == "" {
		t.Errorf("%+v", m)
	}
}
