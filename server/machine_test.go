package main

import (
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/KimMachineGun/automemlimit/memlimit"

	"darboux/handlers/index"
)

// The process may use what the machine has, or less if its cgroup allows less.
func TestMemoryOf(t *testing.T) {
	gives := func(n uint64, err error) memlimit.Provider { return func() (uint64, error) { return n, err } }
	unreadable := errors.New("unreadable")
	for _, r := range []struct {
		name            string
		machine, cgroup memlimit.Provider
		want            int64
		source          string
	}{
		{"a cgroup below the machine", gives(8<<30, nil), gives(2<<30, nil), 2 << 30, "the cgroup"},
		{"a cgroup above the machine", gives(8<<30, nil), gives(9<<30, nil), 8 << 30, "the machine"},
		{"a cgroup without limit", gives(8<<30, nil), gives(0, memlimit.ErrNoLimit), 8 << 30, "the machine"},
		{"no cgroup", gives(8<<30, nil), gives(0, memlimit.ErrNoCgroup), 8 << 30, "the machine"},
		{"a cgroup that can't be read", gives(8<<30, nil), gives(0, unreadable), 8 << 30, "the machine; whether its cgroup has a limit can't be read: unreadable"},
		{"nothing known", gives(0, memlimit.ErrNoLimit), gives(0, memlimit.ErrNoLimit), guessedMemory, "guessed, as the machine doesn't tell"},
		{"too much to be true", gives(math.MaxUint64, nil), gives(1<<40, nil), 1 << 40, "the cgroup"},
	} {
		if n, source := memoryOf(r.machine, r.cgroup); n != r.want || source != r.source {
			t.Errorf("%s: %d, %q, want %d, %q", r.name, n, source, r.want, r.source)
		}
	}
}

func TestThisMachineTellsItsMemory(t *testing.T) {
	m := thisMachine()
	if m.memory < 64*mib || strings.Contains(m.source, "guessed") || strings.Contains(m.source, "can't be read") {
		t.Errorf("%d bytes, %s", m.memory, m.source)
	}
}

// --index-memory auto is what nothing else may need, but never too little to work with.
func TestIndexPart(t *testing.T) {
	for _, r := range []struct{ machine, others, want int64 }{
		{16 * gib, 2 * gib, 13 * gib},
		{16*gib + 1, 2 * gib, 13 * gib},
		{2 * gib, 2 * gib, 512 * mib},
		{16 * mib, 2 * gib, index.LeastMemory(0)},
		{1024 * gib, gib, index.MaxMemory / mib * mib},
	} {
		r.want = min(r.want, index.MaxMemory/mib*mib) // less under the race detector
		if got := indexPart(r.machine, r.others); got != r.want {
			t.Errorf("of %d bytes where others may need %d: %d, want %d", r.machine, r.others, got, r.want)
		}
	}
}

// The values called auto come to less on a smaller machine, and together they fit.
func TestAutoFitsTheMachine(t *testing.T) {
	for _, memory := range []int64{4 * gib, 16 * gib, 256 * gib} {
		m := machine{cores: 8, files: 1 << 20, memory: memory}
		o, _, err := load(nil, nil, m)
		if err != nil {
			t.Fatal(err)
		}
		if sum := totalOf(o.terms()) + o.IndexMemory; sum > memory {
			t.Errorf("on %s: at worst %d bytes are needed, of which the index takes %d", sizeText(memory), sum, o.IndexMemory)
		}
		if o.MaxConns < 10_000 {
			t.Errorf("on %s: %d connections", sizeText(memory), o.MaxConns)
		}
	}
}
