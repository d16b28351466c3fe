package workload

// Book remembers the last metric of each key that was sent, and the last that
// was acknowledged. Sources write to it, each to its own keys; it is read when
// they have ended.
type Book struct {
	sent, acked []int64 // by key; 0 is none
}

// NewBook returns an empty Book for the keys of w. Each key needs one
// connection of its own, so there must be at least as many keys as connections.
func NewBook(w *Workload) *Book {
	return &Book{sent: make([]int64, w.Keys()), acked: make([]int64, w.Keys())}
}

// note writes the metrics of the next events of k to list, and moves k on.
func (b *Book) note(list []int64, k *walk, events int) {
	for range events {
		key := k.next()
		list[key] = k.metric()
	}
}

// Filled notes that each key was sent and acknowledged once by the frames of AppendAll.
func (b *Book) Filled() {
	for key := range b.sent {
		b.sent[key], b.acked[key] = fillMetric, fillMetric
	}
}

// Key returns the metrics sent last and acknowledged last of a key; 0 is none.
func (b *Book) Key(key int) (sent, acked int64) {
	return b.sent[key], b.acked[key]
}
