// Package naive is a Riemann server written in the most obvious way: a
// goroutine a connection, proto.Unmarshal for each Msg, a map of structs under
// one mutex, and a scan of that map for each query. It is the yardstick beside
// which benchmarks put darboux, and a partner for the load client's own tests.
//
// Its types are Server, which serves listeners, and index, the map. It knows
// the queries `true`, `host = "x"`, `service = "x"` and the two joined by
// `and`; anything else is a parse error. It never expires an entry, never
// limits memory and never limits its clients: it is not for production.
package naive
