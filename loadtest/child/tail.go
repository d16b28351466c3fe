package child

import (
	"strings"
	"sync"
)

// tail keeps the last bytes written to it.
type tail struct {
	mu    sync.Mutex
	bytes []byte
}

// Write is for the process's output.
func (t *tail) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.bytes = append(t.bytes, b...)
	if over := len(t.bytes) - outputTail; over > 0 {
		t.bytes = append(t.bytes[:0], t.bytes[over:]...)
	}
	return len(b), nil
}

// String is what an error appends: nothing, or a line break and the output.
func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	text := strings.TrimSpace(string(t.bytes))
	if text == "" {
		return ""
	}
	return "\n" + text
}
