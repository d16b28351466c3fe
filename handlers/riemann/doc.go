// Package riemann reads and writes Riemann's wire: protobuf messages behind
// 4-byte lengths.
//
// An Event and a Msg are views: they note where things stand in the wire bytes
// and copy nothing, so they are valid only as long as those bytes are, and
// reading one allocates nothing. What a view sees is what
// google.golang.org/protobuf would decode: the last of a repeated singular
// field wins, fields that are unknown or have another wire type are skipped,
// strings are not checked for UTF-8.
//
// The stored form of an event is the bytes with which replies carry it. It is
// made from the received bytes by copying and appending (AppendStored); together
// with the Fields that the client had set it answers queries as the received
// event did (ParseStored).
//
// A Record is an event to be encoded. The package does no I/O, knows no clock
// (callers give the time, in microseconds of the Unix epoch) and keeps nothing
// between calls. No function of it may be called on the same value from two
// goroutines at once; different values are independent.
package riemann
