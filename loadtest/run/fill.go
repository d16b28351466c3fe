package run

import (
	"context"
	"errors"
	"fmt"
	"time"

	"darboux/loadtest/wire"
	"darboux/loadtest/workload"
)

// fillAtOnce bounds the requests that Fill sends before it reads.
const fillAtOnce = 16

// Fill sends each key of w once, so that queries have something to find. Every
// Msg must be acknowledged, within timeout of its sending.
func Fill(ctx context.Context, dial wire.Dial, w *workload.Workload, timeout time.Duration) error {
	conn, err := dial(ctx)
	if err != nil {
		return fmt.Errorf("filling the index: %w", err)
	}
	defer conn.Close()
	guard := wire.NewGuard(ctx, conn, timeout)
	defer guard.Stop()
	var out []byte
	in := make([]byte, readBuffer)
	var replies wire.Replies
	for from := 0; from < w.Keys(); from += fillAtOnce * w.Batch() {
		var frames int
		out, frames = w.AppendAll(out[:0], from, min(w.Keys(), from+fillAtOnce*w.Batch()), time.Now())
		_, err := conn.Write(out)
		if err == nil {
			err = awaitAcks(conn, &replies, in, frames)
		}
		if err != nil {
			return fmt.Errorf("filling the index: %w", guard.Explain(err))
		}
		guard.Heard()
	}
	return nil
}

// awaitAcks reads until n requests are acknowledged.
func awaitAcks(conn wire.Conn, replies *wire.Replies, in []byte, n int) error {
	for n > 0 {
		got, err := conn.Read(in)
		for b := in[:got]; len(b) > 0; {
			used, o := replies.Next(b)
			b = b[used:]
			switch o {
			case wire.OK:
				n--
			case wire.Rejected:
				return fmt.Errorf("rejected: %s", replies.Reason())
			case wire.Malformed:
				return fmt.Errorf("a reply that does not begin with ok")
			}
		}
		if err != nil && n > 0 && replies.HTTP() {
			return errors.New(wire.HTTPHint)
		}
		if err != nil && n > 0 {
			return err
		}
	}
	return nil
}
