// Package workload decides what a load client sends: it encodes a Msg once and
// from then on copies it and patches the few bytes that vary (host, service,
// metric, times), so that a request costs a copy and no allocation.
//
// Its types are Config, what a user asks for; Workload, the encoded templates,
// immutable and shared; Source, one connection's endless sequence of requests;
// and Book, which remembers what was sent and acknowledged so that the server's
// index can be checked afterwards. It never does I/O and reads no clock.
//
// The keys (host, service) are dealt to the connections like cards: key k
// belongs to connection k mod C, as a host's agent has one connection. So the
// last acknowledged metric of a key is well defined.
package workload
