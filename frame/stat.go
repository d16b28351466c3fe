package frame

// Stat is one counter or gauge as users read it.
type Stat struct {
	Name  string // in words, such as "connections accepted"
	Gauge bool   // it goes up and down; a counter only grows
	Value int64
}
