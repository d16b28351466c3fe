// Package datagram sends a workload as datagrams, a Msg each, at a rate, and accounts
// for every one: nobody answers a datagram, so what became of it is asked of the
// server's own count and of the kernel's counts of what it dropped.
//
// Its types are Config, Result and Sink, a bare loop that receives datagrams and forgets
// them: the yardstick for a server's CPU.
package datagram
