package main

import (
	"context"
	"log/slog"

	"darboux/handlers"
)

// traceTo tells the log, if it has debug lines, how each query was worked.
func traceTo(log *slog.Logger) func(*handlers.Trace) {
	if !log.Enabled(context.Background(), slog.LevelDebug) {
		return nil
	}
	return func(t *handlers.Trace) {
		log.Debug("query", "peer", t.Peer, "query", t.Query, "by", t.Way.String(),
			"looked_at", t.Looked, "matched", t.Matched, "reply_bytes", t.Bytes, "streamed", t.Streamed)
	}
}
