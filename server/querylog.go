package main

import (
	"context"
	"log/slog"

	"darboux/handlers/querylog"
)

// traceTo tells the log, if it has debug lines, how each query was worked.
func traceTo(log *slog.Logger) func(*querylog.Trace) {
	if !log.Enabled(context.Background(), slog.LevelDebug) {
		return nil
	}
	return func(t *querylog.Trace) {
		log.Debug("query", "peer", t.Peer, "query", clipped(t.Query), "by", t.Way.String(),
			"looked_at", t.Looked, "matched", t.Matched, "reply_bytes", t.Bytes, "streamed", t.Streamed)
	}
}
