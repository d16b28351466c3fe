package workload

import (
	"encoding/binary"
	"fmt"
)

// tailBytes is how much of a name's end is patched, in one store: more digits
// than any name has.
const tailBytes = 8

// names are equally long names, numbered from 0, that differ only in their last
// tailBytes.
type names struct {
	head  string
	tails []uint64 // as they stand in memory
}

// newNames makes n names: prefix and a number with leading zeros.
func newNames(prefix string, n int) names {
	digits := max(len(fmt.Sprint(n-1)), tailBytes-len(prefix))
	var out names
	name := make([]byte, 0, len(prefix)+digits)
	for i := range n {
		name = fmt.Appendf(name[:0], "%s%0*d", prefix, digits, i)
		out.tails = append(out.tails, binary.LittleEndian.Uint64(name[len(name)-tailBytes:]))
	}
	out.head = string(name[:len(name)-tailBytes])
	return out
}

func (n *names) at(i int) string {
	return string(binary.LittleEndian.AppendUint64([]byte(n.head), n.tails[i]))
}

// number finds a name.
func (n *names) number(name string) (int, bool) {
	i := 0
	for j := max(0, len(name)-tailBytes); j < len(name); j++ {
		if c := name[j]; c >= '0' && c <= '9' {
			i = i*10 + int(c-'0')
		}
	}
	if i >= len(n.tails) || n.at(i) != name {
		return 0, false
	}
	return i, true
}
