// Package index holds the last event of each (host, service).
//
// A Store takes events (Apply), answers queries in slices (Search with a
// Cursor), takes out what has expired (Expire) and tells one listener of every
// Change. There are two: NewMap is a sharded map, as plain as can be, the model
// of the tests; New is the Index, for millions of entries, which the garbage
// collector never sees. A Snapshot writes a store to a file and loads it again.
//
// A missing host or service is a key of its own, different from an empty one.
// The package does no network I/O and asks no wall clock: callers give it the
// time, in microseconds of the Unix epoch. It has no goroutine that stays: there
// are some while a snapshot is loaded, and one while memory is warmed ahead.
package index
