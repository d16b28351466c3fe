package main

import (
	"flag"
	"io"
	"net"
	"strings"
	"time"

	"darboux/loadtest/run"
	"darboux/loadtest/workload"
)

// Limits that are this program's own.
const (
	maxSide      = 1000 // ill-behaved connections
	maxPerConn   = 1 << 30
	maxEventSize = 16 << 20
	maxReadRate  = 1 << 30
	maxCount     = 1 << 40
	leastTimeout = 10 * time.Millisecond
	mostTimeout  = 10 * time.Minute
	// countedDuration bounds a run that ends by its count.
	countedDuration = 10 * time.Minute
)

// options are one run's.
type options struct {
	scenario    string
	proto       string
	target      string
	start       string
	serverPID   int
	allowRemote bool
	starts      bool          // the command starts servers itself
	grace       time.Duration // that a server gets to stop

	connections, pipeline int
	rate                  float64
	arrivals              string
	outstanding           int
	duration, warmup      time.Duration
	timeout               time.Duration
	count                 int
	perConn               int
	halfClose             bool
	load                  workload.Config
	fill, verify          bool

	side        string
	sideConns   int
	sideQuery   string
	readRate    int
	stop        bool
	expectP99   time.Duration
	expectRate  float64
	expectFails float64
	failsGiven  bool

	label, json, hdr, html string
	quiet                  bool
	given                  map[string]bool // flags on the command line
}

// register defines the flags that every run has.
func (o *options) register(fs *flag.FlagSet) {
	fs.StringVar(&o.scenario, "scenario", "ingest", "preset of the options below: "+strings.Join(scenarioNames(), ", "))
	fs.StringVar(&o.proto, "proto", "tcp", "`protocol`: tcp, or udp: datagrams of a Msg each at --rate, from so many sockets as --connections says, each one accounted for")
	fs.Var(bounded{&o.connections, 1, run.MaxConnections}, "connections", "`connections` to the server")
	fs.Var(bounded{&o.pipeline, 1, run.MaxPipeline}, "pipeline", "closed loop: `requests` outstanding on each connection")
	fs.Var(rate{&o.rate}, "rate", "open loop: `events/s` over all connections, sent whether answers come or not (requests/s if only queries are sent)")
	fs.StringVar(&o.arrivals, "arrivals", "constant", "open loop: `constant` or poisson gaps")
	fs.Var(bounded{&o.outstanding, 0, run.MaxOutstanding}, "outstanding", "open loop: `requests` in flight at most; 0 is the client's own bound, 1048576")
	fs.DurationVar(&o.duration, "duration", 10*time.Second, "`time` measured; with --count and without this, at most 10m")
	fs.DurationVar(&o.warmup, "warmup", time.Second, "`time` before it that is not measured")
	fs.DurationVar(&o.timeout, "timeout", 10*time.Second, "`time` after which a request, or a connect, has failed")
	fs.Var(bounded{&o.count, 0, maxCount}, "count", "`requests` after the warm-up that end the run early; 0 is no limit")
	fs.Uint64Var(&o.load.Seed, "seed", 1, "`number` that decides keys, queries and poisson gaps")
	fs.Var(bounded{&o.perConn, 0, maxPerConn}, "requests-per-connection", "`requests` after which a connection is closed and opened anew; 0 is never")
	fs.BoolVar(&o.halfClose, "half-close", false, "end connections by shutting down the sending side and reading on")
	fs.BoolVar(&o.fill, "fill", false, "send each key once before the run")
	fs.BoolVar(&o.verify, "verify", false, "afterwards query the server and compare its entries with what it acknowledged")
	o.registerLoad(fs)
	o.registerTrouble(fs)
	o.registerOutput(fs)
}

func (o *options) registerLoad(fs *flag.FlagSet) {
	c := &o.load
	fs.StringVar(&c.Prefix, "prefix", "load", "`text` in front of each host's name")
	fs.Var(bounded{&c.Hosts, 1, workload.MaxKeys}, "hosts", "different `hosts`")
	fs.Var(bounded{&c.Services, 1, workload.MaxKeys}, "services", "different `services` of each host")
	fs.Float64Var(&c.Zipf, "zipf", 0, "`exponent`, above 1, of the keys' popularity; 0 is uniform")
	fs.Var(bounded{&c.Batch, 1, workload.MaxBatch}, "batch", "`events` a Msg")
	fs.Var(size{&c.EventSize, maxEventSize}, "event-size", "`bytes` of an encoded event, filled up by its description; 0 is no description")
	fs.Var(bounded{&c.Tags, 0, 1000}, "tags", "`tags` of an event")
	fs.Var(bounded{&c.Attributes, 0, 1000}, "attributes", "`attributes` of an event")
	fs.DurationVar(&c.TTL, "ttl", 5*time.Minute, "ttl of an event as a `time`; 0s sends none")
	fs.StringVar(&c.Metric, "metric", "d", "`kind` of metric: "+strings.Join(workload.Metrics, ", "))
	fs.StringVar(&c.Times, "time", "both", "event `times`: "+strings.Join(workload.Times, ", "))
	fs.Var(share{to: &c.QueryShare}, "query-share", "`share` of the requests that are queries, such as 10%")
	fs.Var(texts{&c.Queries}, "query", "query `text`; {host} and {service} stand for names that exist; may be repeated")
}

func (o *options) registerTrouble(fs *flag.FlagSet) {
	fs.StringVar(&o.side, "side", "", "`kind` of ill-behaved connections beside the measured ones: flood, slow-reader, slow-query")
	fs.Var(bounded{&o.sideConns, 0, maxSide}, "side-connections", "how many `connections` they are")
	fs.StringVar(&o.sideQuery, "side-query", "true", "`query` that they send")
	fs.Var(size{&o.readRate, maxReadRate}, "read-rate", "`bytes` a second that a slow reader reads")
	fs.BoolVar(&o.stop, "stop", false, "tell the server to stop in the middle of the run (needs --start)")
}

func (o *options) registerOutput(fs *flag.FlagSet) {
	fs.DurationVar(&o.expectP99, "expect-p99", 0, "promise: the 99th percentile is at most this `time`")
	fs.Var(rate{&o.expectRate}, "expect-rate", "promise: at least so many `events/s` are acknowledged (requests/s if only queries are sent)")
	fs.Var(share{&o.expectFails, &o.failsGiven}, "expect-errors", "promise: at most this `share` of the requests fails")
	fs.StringVar(&o.label, "label", "", "`text` that tells this run from others")
	fs.StringVar(&o.json, "json", "", "write the result as JSON to this `file`; - is standard output")
	fs.StringVar(&o.hdr, "hdr", "", "write the latencies as HdrHistogram text to this `file`")
	fs.StringVar(&o.html, "html", "", "write a page with plots to this `file`")
	fs.BoolVar(&o.quiet, "quiet", false, "no line each second")
}

// registerTarget defines the flags of a run against one server.
func (o *options) registerTarget(fs *flag.FlagSet) {
	fs.StringVar(&o.target, "target", "127.0.0.1:5555", "`address` of the server")
	fs.StringVar(&o.start, "start", "", "`command` of a server to start for the run instead; {addr} in it is where it shall listen")
	fs.Var(bounded{&o.serverPID, 0, 1 << 30}, "server-pid", "`process` of the target, for its CPU and memory")
	fs.BoolVar(&o.allowRemote, "allow-remote", false, "allow a target that is not this machine's loopback; put load only on servers that are yours")
}

// defaults are what flags with limits begin with.
func defaults() *options {
	return &options{
		connections: 8, pipeline: 64, readRate: 64 << 10, grace: 30 * time.Second,
		load: workload.Config{Hosts: 100, Services: 100, Batch: 1, EventSize: 185, Tags: 2, Attributes: 2},
	}
}

// parse reads args into o and returns what is left. It applies the scenario to
// the flags that are not given.
func (o *options) parse(name, usage string, args []string, out io.Writer, more func(*flag.FlagSet)) ([]string, error) {
	fs := flag.NewFlagSet(name, flag.ContinueOnError)
	fs.SetOutput(io.Discard)
	o.register(fs)
	more(fs)
	rest, err := parseAll(fs, args)
	if err == flag.ErrHelp {
		printHelp(out, fs, usage)
		return nil, err
	}
	if err != nil {
		return nil, usageError{err}
	}
	o.given = map[string]bool{}
	fs.Visit(func(f *flag.Flag) { o.given[f.Name] = true })
	if err := o.applyScenario(fs); err != nil {
		return nil, err
	}
	if o.count > 0 && !o.given["duration"] {
		o.duration = countedDuration
	}
	if long := o.longest() + time.Minute; o.verify && !o.given["ttl"] {
		o.load.TTL = max(o.load.TTL, long)
	}
	return rest, o.check()
}

// longest is how long a run can take.
func (o *options) longest() time.Duration { return o.warmup + o.duration + o.timeout }

// loopback returns the address of target with its name resolved, and refuses
// one that is not this machine's unless that is allowed.
func (o *options) loopback() (string, error) {
	addr, err := net.ResolveTCPAddr("tcp", o.target)
	if err != nil {
		return "", usagef("--target %q: %v", o.target, err)
	}
	if addr.IP == nil {
		addr.IP = net.IPv4(127, 0, 0, 1)
	}
	if !addr.IP.IsLoopback() && !o.allowRemote {
		return "", usagef("--target %s: is not this machine's loopback; --allow-remote allows it", o.target)
	}
	return addr.String(), nil
}
