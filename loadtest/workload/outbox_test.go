package workload

import (
	"bytes"
	"testing"

	"pgregory.net/rapid"
)

// Whatever is appended and cleared, an Outbox holds what a plain
// buffer would.
func TestOutboxIsABuffer(t *testing.T) {
	for _, share := range []float64{0, 0.3, 1} {
		c := plain()
		c.Batch, c.QueryShare, c.Queries = 2, share, []string{`host = "{host}"`, "true"}
		w := mustNew(t, c, 1)
		rapid.Check(t, func(t *rapid.T) {
			patched, copied := w.Source(0, nil), w.Source(0, nil)
			var out Outbox
			var want []byte
			for range rapid.IntRange(1, 40).Draw(t, "steps") {
				if rapid.IntRange(0, 5).Draw(t, "step") == 0 {
					out.Clear()
					want = nil
				} else {
					micros := rapid.Int64Range(1_700_000_000_000_000, 1_800_000_000_000_000).Draw(t, "micros")
					kind, made := patched.Append(&out, rapid.IntRange(1, 5).Draw(t, "n"), micros)
					for range made {
						frame, same := next(copied, micros)
						want = append(want, frame...)
						if kind != same {
							t.Fatalf("kind %d, want %d", kind, same)
						}
					}
				}
				if !bytes.Equal(out.Bytes(), want) {
					t.Fatalf("\n% x, want\n% x", out.Bytes(), want)
				}
			}
		})
	}
}
