package main

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestPartsStopInReverse(t *testing.T) {
	var out bytes.Buffer
	var order []string
	failure := errors.New("it hangs")
	stopping := func(name string, err error) part {
		return part{name, func(context.Context) error {
			order = append(order, name)
			return err
		}}
	}
	ps := parts{stopping("first", nil), stopping("second", failure), stopping("third", nil)}
	err := ps.stop(context.Background(), newLogger(&out, "info", "text"))
	if !errors.Is(err, failure) {
		t.Errorf("error %v, want that of the second part", err)
	}
	if want := []string{"third", "second", "first"}; !slices.Equal(order, want) {
		t.Errorf("stopped %v, want %v", order, want)
	}
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	for i, name := range order {
		if !strings.Contains(lines[i], "part="+name) || !strings.Contains(lines[i], "took=") {
			t.Errorf("line %d is %q, want %s with its time", i, lines[i], name)
		}
	}
}

func TestPeriodicCallsUntilStopped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		calls := 0
		p := periodic("p", 5*time.Second, func(time.Time) { calls++ })
		time.Sleep(26 * time.Second) // the bubble's clock
		if err := p.stop(context.Background()); err != nil || calls != 5 {
			t.Errorf("%d calls in 26 s at 5 s, error %v", calls, err)
		}
		time.Sleep(time.Minute)
		if calls != 5 {
			t.Errorf("called after stop: %d", calls)
		}
	})
}
