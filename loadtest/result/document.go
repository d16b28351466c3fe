// Package result is what a load run found, as it is written to JSON: plain data
// that every output (summary, page, table) reads. The schema is described in
// docs/BENCHMARKS.md; a change that breaks its readers changes Schema.
//
// Numbers are never NaN or infinite: what cannot be computed (a percentile of
// no replies, a rate of no time) is null or left out. Latencies are whole
// nanoseconds.
package result

import "time"

// Schema names the form of a Document.
const Schema = "darboux-load/1"

// Document is one run.
type Document struct {
	Schema      string      `json:"schema"`
	Label       string      `json:"label,omitempty"` // tells runs apart that are shown side by side
	Command     []string    `json:"command"`
	Started     time.Time   `json:"started"`
	Client      Build       `json:"client"`
	Machine     Machine     `json:"machine"`
	Server      Server      `json:"server"`
	Settings    Settings    `json:"settings"`
	Rates       Rates       `json:"rates"`
	Ledger      Ledger      `json:"ledger"`
	Measured    Ledger      `json:"measured"`
	Connects    Connects    `json:"connections"`
	Pacing      *Pacing     `json:"pacing"` // null in the closed loop
	Latency     Latency     `json:"latency"`
	Spectrum    []Point     `json:"spectrum"`
	Series      []Second    `json:"series"`
	Outstanding []Sample    `json:"outstanding"`
	ClientCost  ClientCost  `json:"client_cost"`
	ServerCost  *ServerCost `json:"server_cost"` // null if the server's process is not known
	Side        *Side       `json:"side"`        // null without ill-behaved connections
	Stop        *Stop       `json:"stop"`        // null if the server was not told to stop
	Verify      *Verify     `json:"verify"`      // null without --verify
	Promises    []Promise   `json:"promises"`
	Errors      []ErrorText `json:"errors"`
	Warnings    []string    `json:"warnings"`
}

// Build identifies a program.
type Build struct {
	Version string `json:"version"`
	Commit  string `json:"commit,omitempty"`
	Go      string `json:"go,omitempty"`
}

// Machine is where client and, on loopback, server ran.
type Machine struct {
	CPU    string `json:"cpu"`
	Cores  int    `json:"cores"`
	Memory int64  `json:"memory_bytes"`
	Kernel string `json:"kernel"`
	OS     string `json:"os"`
}

// Server is what was measured.
type Server struct {
	Address string `json:"address"`
	Command string `json:"command,omitempty"` // if the client started it
	PID     int    `json:"pid,omitempty"`
}

// Settings are what a run was asked to do, defaults and scenario filled in.
type Settings struct {
	Scenario    string   `json:"scenario"`
	Loop        string   `json:"loop"` // closed or open
	Connections int      `json:"connections"`
	Pipeline    int      `json:"pipeline,omitempty"`          // closed loop
	Rate        float64  `json:"rate_events_per_s,omitempty"` // open loop; requests/s if only queries are sent
	Arrivals    string   `json:"arrivals,omitempty"`          // open loop: constant or poisson
	Outstanding int      `json:"outstanding_limit,omitempty"` // open loop; 0 is the client's own bound
	Batch       int      `json:"batch"`                       // events a Msg
	DurationS   float64  `json:"duration_s"`
	WarmupS     float64  `json:"warmup_s"`
	TimeoutS    float64  `json:"timeout_s"`
	Count       int64    `json:"count,omitempty"`             // requests after the warm-up at which the run ends
	PerConn     int      `json:"requests_per_conn,omitempty"` // after which a connection is closed and opened anew
	HalfClose   bool     `json:"half_close,omitempty"`        // by shutting down the sending side first
	Seed        uint64   `json:"seed"`
	Hosts       int      `json:"hosts"`
	Services    int      `json:"services"`       // of each host
	Zipf        float64  `json:"zipf,omitempty"` // exponent; 0 is uniform
	EventBytes  int      `json:"event_bytes"`    // of one encoded Event
	MsgBytes    int      `json:"msg_bytes"`      // of one frame of events, header included
	Tags        int      `json:"tags"`
	Attributes  int      `json:"attributes"`
	TTLS        float64  `json:"ttl_s"`
	Metric      string   `json:"metric"`
	Times       string   `json:"time"`
	QueryShare  float64  `json:"query_share"` // of the requests
	Queries     []string `json:"queries,omitempty"`
	Filled      int      `json:"filled_entries,omitempty"`   // sent once each before the warm-up
	SideKind    string   `json:"side_connections,omitempty"` // what the ill-behaved connections do
	SideConns   int      `json:"side_connections_n,omitempty"`
}

// Rates are those of the measured window, by the time of arrival.
type Rates struct {
	RequestedEvents float64  `json:"requested_events_per_s,omitempty"` // open loop
	Events          float64  `json:"events_per_s"`                     // acknowledged
	Msgs            float64  `json:"msgs_per_s"`                       // answered ok, queries included
	BytesOut        float64  `json:"bytes_out_per_s"`
	BytesIn         float64  `json:"bytes_in_per_s"`
	Achieved        *float64 `json:"achieved_ratio"` // of the requested rate; null in the closed loop
	WindowS         float64  `json:"window_s"`
}

// Ledger accounts for every request: Sent is the sum of the outcomes below it.
type Ledger struct {
	Sent      int64 `json:"sent"`
	OK        int64 `json:"ok"`
	Rejected  int64 `json:"rejected"`  // ok=false
	Malformed int64 `json:"malformed"` // a reply that does not begin with ok
	Timeout   int64 `json:"timeout"`   // no reply within the timeout
	Reset     int64 `json:"reset"`     // the server ended the connection first
	Missing   int64 `json:"missing"`   // unanswered when the client ended the connection
	Events    int64 `json:"events_sent"`
	EventsOK  int64 `json:"events_ok"`
	Queries   int64 `json:"queries_sent"`
	BytesOut  int64 `json:"bytes_out"`
	BytesIn   int64 `json:"bytes_in"`
}

// Failed is the number of requests that did not end in ok=true.
func (l *Ledger) Failed() int64 {
	return l.Rejected + l.Malformed + l.Timeout + l.Reset + l.Missing
}

// Balanced tells whether every request sent has exactly one outcome.
func (l *Ledger) Balanced() bool { return l.Sent == l.OK+l.Failed() }

// Difference is what became known between two ledgers of a run. Sent is the sum of its
// outcomes: some of these requests were sent before the earlier one.
func Difference(later, earlier *Ledger) Ledger {
	d := Ledger{
		OK:       later.OK - earlier.OK,
		Rejected: later.Rejected - earlier.Rejected, Malformed: later.Malformed - earlier.Malformed,
		Timeout: later.Timeout - earlier.Timeout, Reset: later.Reset - earlier.Reset, Missing: later.Missing - earlier.Missing,
		Events: later.Events - earlier.Events, EventsOK: later.EventsOK - earlier.EventsOK, Queries: later.Queries - earlier.Queries,
		BytesOut: later.BytesOut - earlier.BytesOut, BytesIn: later.BytesIn - earlier.BytesIn,
	}
	d.Sent = d.OK + d.Failed()
	return d
}

// Connects counts connections, not requests.
type Connects struct {
	Opened        int64 `json:"opened"`
	ConnectErrors int64 `json:"connect_errors"`
	EndedByServer int64 `json:"ended_by_server"`
	EndedByClient int64 `json:"ended_by_client"`
	Unasked       int64 `json:"unasked_replies"` // replies to no request: a broken server
}

// Pacing tells how well an open loop kept its schedule in the measured window.
type Pacing struct {
	Due        int64 `json:"due"`          // requests whose time came
	Late       int64 `json:"late"`         // sent more than LateAfter after their time, or never
	LateAfter  int64 `json:"late_after"`   // ns
	LatestNs   int64 `json:"latest"`       // ns: the greatest lateness
	MaxBacklog int64 `json:"max_backlog"`  // requests that were due and not yet sent
	Unsent     int64 `json:"never_sent"`   // of Due, not sent when the window ended
	MaxFlight  int64 `json:"max_inflight"` // requests sent and not yet answered
}

// Latency has the percentiles of the measured requests. OK is counted from the
// intended start (in the closed loop that is the actual one).
type Latency struct {
	OK      *Quantiles `json:"ok"`
	Actual  *Quantiles `json:"ok_from_actual_start"` // open loop
	Events  *Quantiles `json:"ok_events"`            // Msgs of events alone, if queries were sent too
	Queries *Quantiles `json:"ok_queries"`           // queries alone, if events were sent too
	Failed  *Quantiles `json:"failed"`               // rejected, malformed, timeout, reset: until that was known
}

// Quantiles summarizes a histogram, in ns; a nil one had no values.
type Quantiles struct {
	Count  int64 `json:"count"`
	Min    int64 `json:"min"`
	Mean   int64 `json:"mean"`
	P50    int64 `json:"p50"`
	P75    int64 `json:"p75"`
	P90    int64 `json:"p90"`
	P95    int64 `json:"p95"`
	P99    int64 `json:"p99"`
	P999   int64 `json:"p99_9"`
	P9999  int64 `json:"p99_99"`
	Max    int64 `json:"max"`
	Beyond int64 `json:"beyond_range,omitempty"` // values over the histogram's hour, counted at its end
}

// Point is one of the percentile spectrum of Latency.OK.
type Point struct {
	Quantile float64 `json:"q"` // 0 to 1
	Value    int64   `json:"ns"`
	Count    int64   `json:"count"` // values up to here
}

// Second is one interval of the run, warm-up included, by time of arrival.
type Second struct {
	At        float64    `json:"t_s"` // its end, since the run's start
	Length    float64    `json:"length_s"`
	Warmup    bool       `json:"warmup,omitempty"`
	Sent      int64      `json:"sent"`
	OK        int64      `json:"ok"`
	Failed    int64      `json:"failed"`
	Events    int64      `json:"events_ok"`
	BytesOut  int64      `json:"bytes_out"`
	BytesIn   int64      `json:"bytes_in"`
	Latency   *Quantiles `json:"latency"` // of the ok replies
	Flight    int64      `json:"outstanding"`
	Backlog   int64      `json:"backlog"`
	ClientCPU float64    `json:"client_cpu"`           // cores
	ServerCPU *float64   `json:"server_cpu,omitempty"` // cores
	ServerRSS int64      `json:"server_rss_bytes,omitempty"`
}

// Sample is the number of requests in flight at a moment.
type Sample struct {
	At      float64 `json:"t_s"`
	Flight  int64   `json:"n"`
	Backlog int64   `json:"backlog"`
}

// ClientCost is what the client itself used in the measured window.
type ClientCost struct {
	CPUSeconds  float64  `json:"cpu_s"`
	Cores       float64  `json:"cores"`          // CPU seconds a second
	PerMsg      *float64 `json:"cpu_ns_per_msg"` // null without replies
	MachineBusy float64  `json:"machine_busy"`   // 0 to 1: share of all cores that did anything
	GCs         int64    `json:"gcs"`            // collections
	GCPauseMax  int64    `json:"gc_pause_max"`   // ns
	SchedLagP99 int64    `json:"sched_lag_p99"`  // ns a runnable goroutine waited
	SchedLagMax int64    `json:"sched_lag_max"`  // ns
	StallMax    int64    `json:"stall_max"`      // ns that the client slept longer than it meant to
	Allocs      *float64 `json:"allocs_per_msg"` // null without replies
	PeakRSS     int64    `json:"peak_rss_bytes"`
	Procs       int      `json:"gomaxprocs"`
	Bottleneck  bool     `json:"client_bottleneck"` // the figures may be the client's, not the server's
}

// ServerCost is what the server's process used in the measured window.
type ServerCost struct {
	CPUSeconds float64  `json:"cpu_s"`
	Cores      float64  `json:"cores"`
	PerMEvents *float64 `json:"cpu_s_per_million_events"` // null without acknowledged events
	PerMMsgs   *float64 `json:"cpu_s_per_million_msgs"`   // null without replies
	RSS        int64    `json:"rss_bytes"`                // at the end of the window
	PeakRSS    int64    `json:"peak_rss_bytes"`
}

// Side is what the ill-behaved connections of a scenario did and met. They are
// in no ledger.
type Side struct {
	Kind          string     `json:"kind"`
	Connections   int        `json:"connections"`
	Requests      int64      `json:"requests"`
	Replies       int64      `json:"replies"`
	BytesOut      int64      `json:"bytes_out"`
	BytesIn       int64      `json:"bytes_in"`
	EndedByServer int64      `json:"ended_by_server"`
	ConnectErrors int64      `json:"connect_errors"`
	Latency       *Quantiles `json:"latency"` // of their replies
}

// Stop is how the server took being told to stop under load.
type Stop struct {
	AtS       float64  `json:"at_s"`       // since the run's start
	TookS     *float64 `json:"took_s"`     // until its process had ended; null if it did not
	Exit      string   `json:"exit"`       // its exit status
	After     Ledger   `json:"after"`      // of the requests whose outcome became known after the signal; events, queries and bytes are those sent after it
	Connects  int64    `json:"reconnects"` // connections that it still took afterwards
	Accounted bool     `json:"accounted"`  // every request of the run has one outcome
}

// Verify is what the server's index held after the run.
type Verify struct {
	Keys    int64    `json:"keys"`    // entries looked for: those acknowledged
	Right   int64    `json:"right"`   // their last metric is the acknowledged one, or a later one that was sent
	Absent  int64    `json:"absent"`  // acknowledged but not in the index
	Wrong   int64    `json:"wrong"`   // another metric than any it may be
	Unknown int64    `json:"unknown"` // found, though never sent by this run
	OK      bool     `json:"ok"`
	Error   string   `json:"error,omitempty"`
	Samples []string `json:"samples,omitempty"` // the first few that are absent or wrong
}

// Promise is an expectation that a user set.
type Promise struct {
	Flag   string `json:"flag"`
	Want   string `json:"want"`
	Got    string `json:"got"`
	Broken bool   `json:"broken"`
}

// ErrorText is one kind of error met.
type ErrorText struct {
	Kind  string `json:"kind"` // rejected, reset, connect …
	Text  string `json:"text"`
	Count int64  `json:"count"`
}
