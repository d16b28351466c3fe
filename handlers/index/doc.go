// Package index holds the last event of each (host, service).
//
// A Store takes events (Apply), answers queries in slices (Search with a
// Cursor), takes out what has expired (Expire) and tells one listener of every
// Change. There are two: NewMap is a sharded map, as plain as can be, the model
// of the tests; New is the real one, for millions of entries.
//
// A missing host or service is a key of its own, different from an empty one.
// The package does no network I/O and starts no goroutine; callers give it the
// time, in microseconds of the Unix epoch.
package index
