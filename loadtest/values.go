package main

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/dustin/go-humanize"
)

// bounded is a whole number with limits, as a flag.
type bounded struct {
	to         *int
	least, max int
}

func (v bounded) String() string {
	if v.to == nil {
		return ""
	}
	return strconv.Itoa(*v.to)
}

// Set takes 1000 or 1_000.
func (v bounded) Set(s string) error {
	n, err := strconv.ParseInt(s, 0, 64)
	if err != nil || n < int64(v.least) || n > int64(v.max) {
		return fmt.Errorf("must be a whole number from %d to %d", v.least, v.max)
	}
	*v.to = int(n)
	return nil
}

// size is a number of bytes, as a flag.
type size struct {
	to  *int
	max int
}

func (v size) String() string {
	if v.to == nil {
		return ""
	}
	return humanize.IBytes(uint64(*v.to))
}

// Set takes 185, 64KiB or 1MiB.
func (v size) Set(s string) error {
	n, err := humanize.ParseBytes(s)
	if err != nil || n > uint64(v.max) {
		return fmt.Errorf("must be a size such as 185 or 64KiB, at most %s", humanize.IBytes(uint64(v.max)))
	}
	*v.to = int(n)
	return nil
}

// maxRate is the greatest rate that can be asked for, events/s.
const maxRate = 1e9

// rate is a number a second, as a flag.
type rate struct{ to *float64 }

func (v rate) String() string {
	if v.to == nil || *v.to == 0 {
		return ""
	}
	return strconv.FormatFloat(*v.to, 'f', -1, 64)
}

// Set takes 2500, 100k or 1.5M.
func (v rate) Set(s string) error {
	n, unit, err := humanize.ParseSI(s)
	if err != nil || unit != "" || !(n > 0 && n <= maxRate) {
		return fmt.Errorf("must be a number a second such as 2500, 100k or 1.5M, above 0 and at most 1G")
	}
	*v.to = n
	return nil
}

// share is a part of a whole, 0 to 1, as a flag.
type share struct {
	to  *float64
	set *bool // nil: nobody asks
}

func (v share) String() string {
	if v.to == nil {
		return ""
	}
	return strconv.FormatFloat(*v.to, 'g', -1, 64)
}

// Set takes 0.01 or 1%.
func (v share) Set(s string) error {
	number, percent := strings.CutSuffix(s, "%")
	n, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
	if percent {
		n /= 100
	}
	if err != nil || !(n >= 0 && n <= 1) {
		return fmt.Errorf("must be a share such as 0.01 or 1%%, from 0 to 1")
	}
	*v.to = n
	if v.set != nil {
		*v.set = true
	}
	return nil
}

// texts is a flag that may be given several times.
type texts struct{ to *[]string }

func (v texts) String() string {
	if v.to == nil {
		return ""
	}
	return strings.Join(*v.to, ", ")
}

func (v texts) Set(s string) error {
	*v.to = append(*v.to, s)
	return nil
}

// numbers is a list of whole numbers with limits, as a flag.
type numbers struct {
	to         *[]int
	least, max int
}

func (v numbers) String() string {
	if v.to == nil {
		return ""
	}
	return strings.Trim(strings.Join(strings.Fields(fmt.Sprint(*v.to)), ","), "[]")
}

// Set takes 1,2,64.
func (v numbers) Set(s string) error {
	var list []int
	for field := range strings.SplitSeq(s, ",") {
		n, err := strconv.Atoi(strings.TrimSpace(field))
		if err != nil || n < v.least || n > v.max {
			return fmt.Errorf("must be whole numbers from %d to %d, with commas", v.least, v.max)
		}
		list = append(list, n)
	}
	*v.to = list
	return nil
}
