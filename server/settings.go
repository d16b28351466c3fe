package main

import (
	"time"

	"darboux/handlers/index"
	"darboux/loop"
)

// A setting is one flag, with its DARBOUX_ variable and its key in a file.
type setting struct {
	name    string // as users know it, without dashes: "max-frame"
	value   string // the word for its value in help and documents; empty: a switch
	initial string // the default, as a user would write it
	help    string // one line for --help and the README
	from    sources
	list    bool                    // it may be given several times, and holds several with commas between them
	parse   func(text string) error // checks text and puts it into Options

	given      // the text that counts, once it was chosen
	bad   bool // parse refused it
}

// sources are the places where a setting may be given.
type sources int

const (
	anywhere  sources = iota // flag, variable or file
	notInFile                // flag or variable
	flagOnly                 // flag
)

// The outer bounds of settings that have no more natural one. They exist so that
// a slip of the pen (a unit too many) is an error instead of a broken server.
const (
	kib = int64(1) << 10
	mib = int64(1) << 20
	gib = int64(1) << 30

	mostLoops    = 256
	mostHandlers = 1024
	mostSlots    = 1 << 16
	mostConns    = 10_000_000
	mostFrame    = gib
	mostReply    = 2*gib - 1 // what protobuf's libraries read
	mostMemory   = 1024 * gib
	mostEntries  = 1_000_000_000

	// leastLogMemory has room for the longest line: a request target of the largest
	// --http-max-head, escaped.
	leastLogMemory = mib

	// mostTTL keeps the default ttl exact in the 32-bit float of the wire.
	mostTTL = (1 << 24) * time.Second
)

// settings returns the table of all settings with their defaults; parsing a
// setting fills its field of o.
func settings(o *Options) []*setting {
	return []*setting{
		{name: "tcp", value: "ADDR", initial: "127.0.0.1:5555", list: true, parse: addresses(&o.TCP),
			help: "host:port that serves Riemann clients; repeatable, port 0 takes a free one, empty is off"},
		{name: "udp", value: "ADDR", initial: "127.0.0.1:5555", list: true, parse: addresses(&o.UDP),
			help: "host:port that takes Riemann's datagrams, a Msg each, never answered; repeatable, empty is off"},
		{name: "udp-buffer", value: "SIZE", initial: "4MiB", parse: size(&o.UDPBuffer, 4*kib, gib),
			help: "kernel receive buffer of each UDP socket; what is really obtained stands in the log"},
		{name: "graphite", value: "ADDR", initial: "", list: true, parse: addresses(&o.Graphite),
			help: "host:port that takes Graphite's lines, over TCP and UDP; repeatable, empty is off (2003 is usual)"},
		{name: "graphite-ttl", value: "DURATION", initial: "3m", parse: zeroOr(&o.GraphiteTTL, wholeSeconds(&o.GraphiteTTL, time.Second, mostTTL)),
			help: "time to live of events made of Graphite's and OpenTSDB's lines; 0 is that of --ttl"},
		{name: "graphite-template", value: "TEMPLATE", initial: "", list: true, parse: templates(&o.GraphiteTemplates),
			help: "[FILTER] PARTS, such as servers.* .host.measurement*, which make host and service from Graphite's paths; repeatable"},
		{name: "opentsdb", value: "ADDR", initial: "", list: true, parse: addresses(&o.OpenTSDB),
			help: "host:port that takes OpenTSDB's lines (put, version); repeatable, empty is off (4242 is usual)"},
		{name: "max-line", value: "SIZE", initial: "4KiB", parse: size(&o.MaxLine, 64, loop.BurstSize),
			help: "longest line of Graphite and OpenTSDB taken, with its newline; a longer one is skipped and counted, the next ones stand"},
		{name: "http", value: "ADDR", initial: "127.0.0.1:5556", list: true, parse: addresses(&o.HTTP),
			help: "host:port that serves HTTP/1.1; repeatable, empty is off"},
		{name: "http-max-head", value: "SIZE", initial: "16KiB", parse: size(&o.HTTPMaxHead, kib, 64*kib),
			help: "largest head of an HTTP request taken: its line and headers"},
		{name: "http-max-body", value: "SIZE", initial: "16MiB", parse: size(&o.HTTPMaxBody, kib, mostFrame),
			help: "largest body of an HTTP request taken, counted without the framing of chunks"},
		{name: "http-idle-timeout", value: "DURATION", initial: "60s", parse: zeroOr(&o.HTTPIdleTimeout, duration(&o.HTTPIdleTimeout, 100*time.Millisecond, 24*time.Hour)),
			help: "how long an HTTP connection may rest between two requests; 0 is for ever"},
		{name: "http-producers", value: "N", initial: "256", parse: wholeNumber(&o.HTTPProducers, 1, loop.MaxWaiting),
			help: "most HTTP replies that may be made by a writer of their own at a time; beyond it the answer is 503"},
		{name: "http-read-token", value: "FILE", initial: "", parse: tokenFile(&o.HTTPReadToken),
			help: "file with the token that reading over HTTP needs; empty: none"},
		{name: "http-write-token", value: "FILE", initial: "", parse: tokenFile(&o.HTTPWriteToken),
			help: "file with the token that writing over HTTP needs, and debugging from elsewhere; empty: none"},
		{name: "http-cors", value: "ORIGIN", initial: "*", parse: originOrAll(&o.HTTPCORS),
			help: "origin whose pages may read over HTTP in a browser, * for all; empty: none"},
		{name: "http-access-log", initial: "false", parse: yesOrNo(&o.HTTPAccessLog),
			help: "log a line for each HTTP request"},
		{name: "http-traces", value: "URL", initial: "", parse: httpURL(&o.HTTPTraces),
			help: "where spans of HTTP requests go, by OTLP over HTTP, such as http://127.0.0.1:4318/v1/traces; empty is off"},

		{name: "loops", value: "auto|N", initial: "auto", parse: autoOr(&o.Loops, wholeNumber(&o.Loops, 1, mostLoops)),
			help: "event loops that own the sockets; auto is a quarter of the cores"},
		{name: "handlers", value: "auto|N", initial: "auto", parse: autoOr(&o.Handlers, wholeNumber(&o.Handlers, 0, mostHandlers)),
			help: "handlers that decode and answer; auto is the number of cores, 0 does their work on the loops"},
		{name: "ring-slots", value: "N", initial: "1024", parse: powerOfTwo(&o.RingSlots, 2, mostSlots),
			help: "bursts that may be with the handlers at once, a power of two"},

		{name: "max-frame", value: "SIZE", initial: "16MiB", parse: size(&o.MaxFrame, kib, mostFrame),
			help: "largest frame taken; a longer one is answered with an error and the connection closed"},
		{name: "max-event", value: "SIZE", initial: "1MiB", parse: size(&o.MaxEvent, kib, mostFrame),
			help: "largest event taken; a larger one is skipped and counted, the rest of its Msg stands"},
		{name: "max-reply", value: "SIZE", initial: "1GiB", parse: size(&o.MaxReply, kib, mostReply),
			help: "largest reply to a query; a larger one is answered with an error that says how large it would be"},
		{name: "stream-memory", value: "SIZE", initial: "256MiB", parse: size(&o.StreamMemory, mib, mostMemory),
			help: "most bytes that replies above 64KiB may keep of the index, such as old versions of events; beyond it the youngest such reply is broken off"},
		{name: "conn-memory", value: "SIZE", initial: "256KiB", parse: size(&o.ConnMemory, loop.MinConnMemory, gib),
			help: "most bytes a connection may hold: frames waiting and replies not yet in the kernel"},
		{name: "memory", value: "SIZE", initial: "1GiB", parse: size(&o.Memory, mib, mostMemory),
			help: "most bytes all connections together may hold; half of it is for frames above --conn-memory"},
		{name: "socket-buffer", value: "auto|SIZE", initial: "auto", parse: autoOr(&o.SocketBuffer, size(&o.SocketBuffer, 4*kib, gib)),
			help: "cap of each kernel socket buffer; auto leaves it to the kernel"},

		{name: "max-conns", value: "auto|N", initial: "auto", parse: autoOr(&o.MaxConns, wholeNumber(&o.MaxConns, 1, mostConns)),
			help: "most open connections; auto is what the limit of open files and an eighth of the memory allow"},
		{name: "max-conns-per-address", value: "N", initial: "0", parse: wholeNumber(&o.MaxConnsPerAddress, 0, mostConns),
			help: "most open connections of one peer address; 0 is no limit"},
		{name: "frame-timeout", value: "DURATION", initial: "10s", parse: zeroOr(&o.FrameTimeout, duration(&o.FrameTimeout, 100*time.Millisecond, 24*time.Hour)),
			help: "window over which a begun frame must arrive at 4 KiB a second or more, and a fifth of that over which at 256 KiB while others wait for its memory; 0 is off"},
		{name: "write-timeout", value: "DURATION", initial: "10s", parse: zeroOr(&o.WriteTimeout, duration(&o.WriteTimeout, 100*time.Millisecond, 24*time.Hour)),
			help: "window over which replies must be read at 4 KiB a second or more; 0 is off"},

		{name: "ttl", value: "DURATION", initial: "60s", parse: wholeSeconds(&o.TTL, time.Second, mostTTL),
			help: "time to live of events that bring none, in whole seconds"},
		{name: "expire-every", value: "DURATION", initial: "5s", parse: duration(&o.ExpireEvery, 10*time.Millisecond, 24*time.Hour),
			help: "time between two runs that take expired events out of the index"},
		{name: "expire-keep", value: "FIELD", initial: "host,service", list: true, parse: keptFields(&o.ExpireKeep),
			help: "what the notice of an expiry keeps of the event: host, service, description, metric, ttl, tags, attributes or all; repeatable (nothing sends notices to clients yet)"},
		{name: "newest-wins", initial: "false", parse: yesOrNo(&o.NewestWins),
			help: "keep the event of the latest time of each host and service, not the one received last"},
		{name: "index-entries", value: "N", initial: "0", parse: wholeNumber(&o.IndexEntries, 0, mostEntries),
			help: "most events in the index, one for each host and service; 0 leaves it to --index-memory"},
		{name: "index-memory", value: "auto|SIZE", initial: "auto", parse: autoOr(&o.IndexMemory, size(&o.IndexMemory, index.LeastMemory(0), index.MaxMemory)),
			help: "most memory that the index may take; auto is what the machine, or the process's cgroup, has and nothing else may need"},
		{name: "snapshot", value: "FILE", initial: "", parse: anyText(&o.Snapshot),
			help: "file that the index is written to, and loaded from at the start; empty is off"},
		{name: "snapshot-every", value: "DURATION", initial: "1m", parse: zeroOr(&o.SnapshotEvery, duration(&o.SnapshotEvery, 100*time.Millisecond, 24*time.Hour)),
			help: "time between two snapshots; 0 leaves them to SIGUSR1 and to the end"},
		{name: "snapshot-timeout", value: "DURATION", initial: "60s", parse: duration(&o.SnapshotTimeout, 100*time.Millisecond, time.Hour),
			help: "most time that the snapshot at the end may take, after the drain"},
		{name: "snapshot-salvage", initial: "false", parse: yesOrNo(&o.SnapshotSalvage),
			help: "start with what is whole of a damaged snapshot, instead of not at all"},
		{name: "self-events", value: "DURATION", initial: "10s", parse: zeroOr(&o.SelfEvents, duration(&o.SelfEvents, 100*time.Millisecond, time.Hour)),
			help: "time between two rounds of the server's own counters as events; 0 is off"},
		{name: "drain-timeout", value: "DURATION", initial: "20s", parse: duration(&o.DrainTimeout, 100*time.Millisecond, time.Hour),
			help: "most time from SIGTERM, SIGINT or SIGHUP until connections are closed, answered or not"},

		{name: "log-level", value: "LEVEL", initial: "info", parse: oneOf(&o.LogLevel, "debug", "info", "warn", "error"),
			help: "least level of log lines: debug, info, warn or error"},
		{name: "log-format", value: "FORMAT", initial: "text", parse: oneOf(&o.LogFormat, "text", "json"),
			help: "form of log lines: text or json"},
		{name: "log-memory", value: "SIZE", initial: "4MiB", parse: size(&o.LogMemory, leastLogMemory, gib),
			help: "most bytes of log lines that wait for a slow reader of the log; lines beyond it are lost, counted and told"},

		{name: "config", value: "FILE", initial: "", from: notInFile, parse: anyText(&o.Config),
			help: "file of settings, key = value a line; flags and variables win over it"},
		{name: "check", initial: "false", from: flagOnly, parse: yesOrNo(&o.Check),
			help: "check all settings, print them and end"},
		{name: "version", initial: "false", from: flagOnly, parse: yesOrNo(&o.Version),
			help: "print the version and end"},
	}
}
