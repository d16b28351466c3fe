package web

import (
	"bytes"
	"io"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/common/expfmt"
	"github.com/valyala/fasthttp"
)

// Number is one number that the server counts, by its name in words.
type Number struct {
	Name  string // such as "bytes read" or "connections closed: reset", a cause behind the colon
	Help  string // a sentence
	Gauge bool   // it goes up and down; a counter only grows
	Value int64
}

// NewNumbers returns what gathers the server's numbers, and those of the Go runtime and
// the process. numbers returns always the same ones; any goroutine may call it.
func NewNumbers(numbers func() []Number) prometheus.Gatherer {
	r := prometheus.NewPedanticRegistry()
	r.MustRegister(numberCollector(numbers), collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return r
}

type numberCollector func() []Number

// Describe implements prometheus.Collector.
func (c numberCollector) Describe(out chan<- *prometheus.Desc) {
	for _, n := range c() {
		out <- n.describe()
	}
}

// Collect implements prometheus.Collector.
func (c numberCollector) Collect(out chan<- prometheus.Metric) {
	for _, n := range c() {
		kind := prometheus.CounterValue
		if n.Gauge {
			kind = prometheus.GaugeValue
		}
		value := float64(n.Value)
		if strings.Contains(n.Name, "milliseconds") {
			value /= 1000
		}
		out <- prometheus.MustNewConstMetric(n.describe(), kind, value)
	}
}

func (n *Number) describe() *prometheus.Desc {
	name, cause := n.MetricName()
	var labels prometheus.Labels
	help := n.Help
	if cause != "" {
		labels = prometheus.Labels{"cause": cause}
		what, _, _ := strings.Cut(n.Name, ":")
		help = strings.ToUpper(what[:1]) + what[1:] + ", by cause." // one help for all of a name
	}
	return prometheus.NewDesc(name, help, nil, labels)
}

// MetricName is the number's name by the conventions of Prometheus, and its label cause,
// which may be "". What counts milliseconds is shown in seconds.
func (n *Number) MetricName() (name, cause string) {
	name, cause, _ = strings.Cut(n.Name, ": ")
	name = strings.Replace(name, "milliseconds", "seconds", 1) // the base unit; the value follows
	words := strings.FieldsFunc(name, func(r rune) bool { return r == ' ' || r == '-' })
	for i, w := range words { // a unit stands last
		if w == "bytes" && i < len(words)-1 {
			words = append(append(words[:i:i], words[i+1:]...), w)
			break
		}
	}
	if !n.Gauge {
		words = append(words, "total")
	}
	return "darboux_" + strings.Join(words, "_"), cause
}

// metrics answers with all numbers. They are gathered by a producer, because that takes
// longer than a handler should be held.
func (a *API) metrics(ctx *fasthttp.RequestCtx) {
	format := expfmt.NewFormat(expfmt.TypeTextPlain)
	ctx.SetContentType(string(format))
	Write(ctx, -1, func(w io.Writer) error {
		text, err := a.gather(format)
		if err != nil {
			return err
		}
		_, err = w.Write(text)
		return err
	})
}

// gather returns all numbers as text. One request does it at a time: as many as there are
// body writers would take many times their memory, and the processors.
func (a *API) gather(format expfmt.Format) ([]byte, error) {
	a.gathering.Lock()
	defer a.gathering.Unlock()
	families, err := a.Numbers.Gather()
	if err != nil {
		return nil, err
	}
	var text bytes.Buffer
	encoder := expfmt.NewEncoder(&text, format)
	for _, f := range families {
		if err := encoder.Encode(f); err != nil {
			return nil, err
		}
	}
	return text.Bytes(), nil
}
