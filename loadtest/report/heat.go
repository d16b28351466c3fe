package report

import (
	"fmt"
	"html/template"
	"io"
	"math"
	"strings"
)

// Heat is a heat map: a figure for each row and column.
type Heat struct {
	Caption    string
	Axes       string // what rows and columns are
	Rows, Cols []string
	Cells      [][]Cell
}

// Cell is one figure of a heat map.
type Cell struct {
	Text  string
	Value float64 // NaN: not measured
	Shade float64 // 0, worst, to 1, best
	Best  bool
}

// Grade gives each cell its shade, by the logarithm of its value, and marks the
// best. Values of 0 and below, and missing ones, are worst.
func (h *Heat) Grade(moreIsBetter bool) {
	low, high := math.Inf(1), math.Inf(-1)
	h.each(func(c *Cell) {
		if c.Value > 0 {
			low, high = min(low, c.Value), max(high, c.Value)
		}
	})
	best := low
	if moreIsBetter {
		best = high
	}
	h.each(func(c *Cell) {
		if !(c.Value > 0) {
			return
		}
		c.Shade = 1
		if high > low {
			c.Shade = math.Log(c.Value/low) / math.Log(high/low)
			if !moreIsBetter {
				c.Shade = 1 - c.Shade
			}
		}
		c.Best = c.Value == best
	})
}

func (h *Heat) each(f func(*Cell)) {
	for _, row := range h.Cells {
		for i := range row {
			f(&row[i])
		}
	}
}

// blocks draw a shade in text, from worst to best.
var blocks = []string{"  ", "░░", "▒▒", "▓▓", "██"}

func (c *Cell) block() string {
	return blocks[min(int(c.Shade*float64(len(blocks))), len(blocks)-1)]
}

// Markdown writes the heat map as a table; the darkest block is the best.
func (h *Heat) Markdown(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "### %s\n\n| %s |", h.Caption, h.Axes)
	for _, c := range h.Cols {
		fmt.Fprintf(&b, " %s |", c)
	}
	b.WriteString("\n| --- |" + strings.Repeat(" --- |", len(h.Cols)) + "\n")
	for i, row := range h.Cells {
		fmt.Fprintf(&b, "| %s |", h.Rows[i])
		for _, c := range row {
			text := c.Text
			if c.Best {
				text = "**" + text + "**"
			}
			fmt.Fprintf(&b, " %s %s |", c.block(), text)
		}
		b.WriteByte('\n')
	}
	b.WriteByte('\n')
	_, err := io.WriteString(w, b.String())
	return err
}

// Markdown writes the table.
func (t *Table) Markdown(w io.Writer) error {
	var b strings.Builder
	if t.Caption != "" {
		fmt.Fprintf(&b, "### %s\n\n", t.Caption)
	}
	fmt.Fprintf(&b, "| %s |\n|%s\n", strings.Join(t.Head, " | "), strings.Repeat(" --- |", len(t.Head)))
	for _, row := range t.Rows {
		fmt.Fprintf(&b, "| %s |\n", strings.Join(row, " | "))
	}
	b.WriteByte('\n')
	_, err := io.WriteString(w, b.String())
	return err
}

// shade is a cell's background: from red, worst, over yellow to green.
func shade(c Cell) template.CSS {
	if math.IsNaN(c.Value) {
		return "background: #ddd"
	}
	return template.CSS(fmt.Sprintf("background: hsl(%.0f 70%% 75%%)", 120*c.Shade))
}
