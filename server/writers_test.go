package main

import (
	"context"
	"testing"

	"darboux/handlers/web"
)

// TestNoWritersAreLeft stops the body writers when the time for it is over, but none is left.
func TestNoWritersAreLeft(t *testing.T) {
	over, cancel := context.WithCancel(context.Background())
	cancel()
	for range 100 {
		if err := (&server{web: &web.HTTP{}}).waitForWriters(over); err != nil {
			t.Fatal(err)
		}
	}
}
