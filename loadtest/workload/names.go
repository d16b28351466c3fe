package workload

import "fmt"

// names are equally long names in one run of memory, numbered from 0.
type names struct {
	bytes []byte
	width int
}

func newNames(prefix string, n int) names {
	digits := len(fmt.Sprint(n - 1))
	out := names{width: len(prefix) + digits}
	out.bytes = make([]byte, 0, n*out.width)
	for i := range n {
		out.bytes = fmt.Appendf(out.bytes, "%s%0*d", prefix, digits, i)
	}
	return out
}

func (n *names) at(i int) []byte {
	return n.bytes[i*n.width : (i+1)*n.width]
}
