package main

import (
	"fmt"
	"strings"

	"darboux/frame"
	"darboux/handlers"
	"darboux/handlers/opentsdb"
	"darboux/loop"
)

// A way is a way in: addresses, and the protocol that is spoken there. All of them
// share the same loops, ring and handlers.
type way struct {
	flag      string // by which users know it
	network   string // tcp or udp
	addresses []string
	protocol  *frame.Protocol
}

// ways returns the ways in that have an address. The place of one is the kind of its
// bursts.
func (s *server) ways() []way {
	all := []way{
		{"--tcp", "tcp", s.o.TCP, s.riemann.Protocol()},
		{"--udp", "udp", s.o.UDP, s.riemann.Datagrams()},
		{"--graphite", "tcp", s.o.Graphite, s.graphite.Protocol()},
		{"--graphite", "udp", s.o.Graphite, s.graphite.Datagrams()},
		{"--opentsdb", "tcp", s.o.OpenTSDB, s.opentsdb.Protocol()},
		{"--http", "tcp", s.o.HTTP, s.web.Protocol()},
	}
	var open []way
	for _, w := range all {
		if len(w.addresses) > 0 {
			open = append(open, w)
		}
	}
	return open
}

// newLines makes the protocols whose frames are lines.
func (s *server) newLines() {
	lines := func(name string) *handlers.Lines {
		return &handlers.Lines{
			Name: name, Store: s.store, MaxLine: limit("--max-line", s.o.MaxLine), TTL: float32(s.o.GraphiteTTL.Seconds()),
			Now: handlers.Micros, Report: s.report.Report,
		}
	}
	s.graphite = lines("graphite")
	s.graphite.Parse = s.o.GraphiteTemplates.Parse
	s.opentsdb = lines("opentsdb")
	s.opentsdb.Parse, s.opentsdb.Reply = opentsdb.Parse, opentsdb.Reply(version(), int(s.o.MaxLine), "--max-line")
}

// listen opens the listeners of a way in.
func (s *server) listen(w way, kind int) error {
	for _, address := range w.addresses {
		fields := []any{"protocol", w.protocol.Name, "flag", w.flag, "network", w.network}
		switch w.network {
		case "tcp":
			real, err := s.group.Listen(address, kind)
			if err != nil {
				return fmt.Errorf("%s %s: %w", w.flag, address, err)
			}
			fields = append(fields, "addr", real.String())
		case "udp":
			real, granted, err := s.group.ListenDatagrams(address, kind, int(s.o.UDPBuffer))
			if err != nil {
				return fmt.Errorf("%s %s: %w", w.flag, address, err)
			}
			s.tellBuffer(w, real.String(), int64(granted))
			fields = append(fields, "addr", real.String(), "receive_buffer", byteSize(granted))
		}
		s.log.Info("listening", append(fields, "path", pathOf(s.o, w))...)
	}
	return nil
}

// tellBuffer says so if the kernel granted less than was asked for.
func (s *server) tellBuffer(w way, address string, granted int64) {
	if granted >= s.o.UDPBuffer {
		return
	}
	s.log.Warn("the kernel grants a smaller receive buffer: bursts of datagrams may be dropped",
		"flag", w.flag, "addr", address, "asked", byteSize(s.o.UDPBuffer), "granted", byteSize(granted),
		"cure", fmt.Sprintf("sysctl -w net.core.rmem_max=%d", s.o.UDPBuffer))
}

// pathOf tells how what comes in by a way travels: who reads, cuts, works and writes it,
// and the limits on the way. docs/ARCHITECTURE.md shows these lines.
func pathOf(o *Options, w way) string {
	words, loops := w.protocol.Words, count(o.Loops, "loop")
	read := fmt.Sprintf("read: %s (--loops), up to %s a connection (--conn-memory)", loops, sizeText(o.ConnMemory))
	cut := fmt.Sprintf("cut: %s, up to %s each (%s)", words.Frame, sizeText(int64(w.protocol.MaxFrame.Value)), w.protocol.MaxFrame.Flag)
	burst := "about " + sizeText(loop.BurstSize)
	if w.network == "udp" {
		read = fmt.Sprintf("read: %s (--loops), each from a socket of its own of %s (--udp-buffer), up to %d datagrams a call", loops, sizeText(o.UDPBuffer), loop.DatagramBatch)
		cut = fmt.Sprintf("cut: a datagram is %s, up to %d bytes", words.Frame, loop.MaxDatagram)
		burst = fmt.Sprintf("up to %d datagrams", loop.DatagramBatch)
	}
	pass := fmt.Sprintf("pass: bursts of %s, up to %d at once (--ring-slots)", burst, o.RingSlots)
	by := count(o.Handlers, "handler") + " (--handlers)"
	switch {
	case o.Handlers == 0:
		pass, by = "pass: bursts of "+burst, "the same loop (--handlers)"
	case w.protocol.Brief:
		by += ", or the same loop where that is brief,"
	}
	work := fmt.Sprintf("work: %s %s", by, words.Work)
	write := "write: nothing, ever"
	if words.Reply != "" {
		write = fmt.Sprintf("write: the connection's loop, %s, up to %s waiting", words.Reply, sizeText(loop.Window))
	}
	return strings.Join([]string{read, cut, pass, work, write}, " | ")
}

// count is a number of things in words.
func count(n int, thing string) string {
	if n != 1 {
		thing += "s"
	}
	return fmt.Sprint(n, " ", thing)
}
