package riemann

import (
	"testing"
)

func FuzzEvent(f *testing.F) {
	f.Fuzz(func(t *testing.T, b []byte) { checkEvent(t, b) })
}

func FuzzMsg(f *testing.F) {
	var m Msg
	f.Fuzz(func(t *testing.T, b []byte) { checkMsg(t, &m, b) })
}
