package main

import (
	"time"

	"darboux/handlers/graphite"
	"darboux/handlers/riemann"
	"darboux/loop"
)

// Options holds every setting of the daemon after all of them were checked: one
// field for each flag, filled by the table in settings.go and by nothing else.
type Options struct {
	// TCP are the host:port addresses that serve Riemann clients; none is allowed.
	TCP []string

	// UDP are the host:port addresses that take Riemann's datagrams; none is allowed.
	UDP []string
	// UDPBuffer is the receive buffer asked for each UDP socket, in bytes.
	UDPBuffer int64
	// Graphite are the host:port addresses that take Graphite's lines, over TCP and UDP.
	Graphite []string
	// GraphiteTTL is given to the events of lines; 0 leaves it to TTL.
	GraphiteTTL time.Duration
	// GraphiteTemplates make host and service from Graphite's paths.
	GraphiteTemplates *graphite.Templates
	// OpenTSDB are the host:port addresses that take OpenTSDB's lines.
	OpenTSDB []string
	// MaxLine is the longest line taken, in bytes with its newline.
	MaxLine int64

	// HTTP are the addresses that serve HTTP; none is allowed.
	HTTP []string
	// HTTPMaxHead is the largest head of a request, in bytes.
	HTTPMaxHead int64
	// HTTPMaxBody is the largest body of a request, in bytes.
	HTTPMaxBody int64
	// HTTPIdleTimeout is how long a connection may rest between two requests; 0 is for ever.
	HTTPIdleTimeout time.Duration
	// HTTPProducers bounds the body writers that run at a time.
	HTTPProducers int
	// HTTPReadToken and HTTPWriteToken are tokens as their files hold them; empty is none.
	HTTPReadToken, HTTPWriteToken string
	// HTTPCORS is the origin whose pages may read, * for all; empty is none.
	HTTPCORS string
	// HTTPAccessLog asks for a log line for each request.
	HTTPAccessLog bool
	// HTTPTraces is where spans are sent; empty is off.
	HTTPTraces string

	// Loops is the number of event loops, at least 1.
	Loops int
	// Handlers is the number of handlers; 0 works bursts on the loops.
	Handlers int
	// RingSlots is the number of bursts that may be out at once, a power of two.
	RingSlots int

	// MaxFrame is the largest frame accepted, in bytes.
	MaxFrame int64
	// MaxEvent is the largest event taken, in bytes; larger ones are skipped.
	MaxEvent int64
	// MaxReply is the largest reply sent, in bytes.
	MaxReply int64
	// StreamMemory bounds what all replies on their way keep of the index, in bytes.
	StreamMemory int64
	// ConnMemory bounds what one connection may hold, in bytes.
	ConnMemory int64
	// Memory bounds what all connections together may hold, in bytes.
	Memory int64
	// SocketBuffer caps each kernel socket buffer, in bytes; auto leaves them to the kernel.
	SocketBuffer int64

	// MaxConns bounds the open connections.
	MaxConns int
	// MaxConnsPerAddress bounds those of one peer address; 0 is no bound.
	MaxConnsPerAddress int
	// FrameTimeout is the window over which a peer must send at its least rate.
	FrameTimeout time.Duration
	// WriteTimeout is the window over which a peer must read at its least rate.
	WriteTimeout time.Duration

	// TTL is given to events that bring none; whole seconds.
	TTL time.Duration
	// ExpireEvery is the time between two runs of the reaper.
	ExpireEvery time.Duration
	// ExpireKeep are the fields that the notice of an expiry keeps.
	ExpireKeep riemann.Fields
	// NewestWins keeps the event of the latest time of a key, not the last received.
	NewestWins bool
	// IndexEntries bounds the events in the index; 0 is no bound but IndexMemory.
	IndexEntries int
	// IndexMemory bounds the memory of the index, in bytes.
	IndexMemory int64
	// Snapshot is the file that the index is loaded from and written to; empty is none.
	Snapshot string
	// SnapshotEvery is the time between two snapshots; 0 is none but when asked for.
	SnapshotEvery time.Duration
	// SnapshotTimeout bounds the snapshot at the end.
	SnapshotTimeout time.Duration
	// SnapshotSalvage takes what is whole of a damaged snapshot.
	SnapshotSalvage bool
	// SelfEvents is the time between two rounds of self events; 0 is none.
	SelfEvents time.Duration
	// DrainTimeout bounds the drain at the end.
	DrainTimeout time.Duration

	// LogLevel is debug, info, warn or error.
	LogLevel string
	// LogFormat is text or json.
	LogFormat string
	// LogMemory bounds the log lines that wait for the reader of the log, in bytes.
	LogMemory int64

	// Config is the file that was read for settings; empty is none.
	Config string
	// Check asks to print the settings instead of starting.
	Check bool
	// Version asks to print the version instead of starting.
	Version bool

	// Machine is what the values called auto were made from.
	Machine machine
}

// auto stands in a numeric field until resolve has put the real number there.
const auto = -1

// sparedFiles are the descriptors kept for other things than connections:
// listeners, pollers, files and the runtime's own.
const sparedFiles = 128

// connsPart is the part of the machine's memory, as a divisor, that connections may need
// for themselves where --max-conns says auto.
const connsPart = 8

// resolve puts a number wherever o still says auto.
func (o *Options) resolve(m machine) {
	o.Machine = m
	if o.Loops == auto {
		o.Loops = max(1, m.cores/4)
	}
	if o.Handlers == auto {
		o.Handlers = max(1, m.cores)
	}
	if o.MaxConns == auto {
		byMemory := int(m.memory / connsPart / (loop.BeyondShare + loop.ConnSize + keptSize))
		o.MaxConns = max(1, min(m.files-sparedFiles, byMemory, mostConns))
	}
	if o.IndexMemory == auto {
		o.IndexMemory = indexPart(m.memory, totalOf(o.terms()))
	}
}
