// Package handlers works what loops cut: a Pool of handler goroutines takes bursts
// from the ring, works their frames in order and gives them back; Riemann is the
// protocol of Riemann's clients, whose frames are Msgs; Lines are protocols whose frames
// are lines of text, such as Graphite's. Each of them also comes as datagrams, which are
// never answered.
//
// A handler never touches a socket and never waits for one. What it may need long
// for is worked in slices, between which others have their turn.
package handlers
