// Package web is HTTP/1.1 on the loops: what loops cut (frame.HTTP) is parsed into
// fasthttp's Request, answered by a fasthttp.RequestHandler, and serialised from its
// Response into the burst. fasthttp's server is not used.
//
// HTTP is the protocol and says how replies leave: a body at hand as it is, a Sliced body
// worked in slices on the handler, any other body stream, such as that of Write, by a
// producer: a goroutine of its own, the only one that waits for a slow reader. API is the
// endpoints over the index, guarded by its Access. Observe and its two kinds, the access
// log and the traces, are chosen at the start; without them nothing of them is run.
//
// Nothing here touches a socket. A RequestHandler must not wait, because it holds a
// handler of the pool; what has to wait belongs into a body's writer. It must keep
// nothing of its RequestCtx, and a writer must not touch it: the request's bytes are its
// burst's. Of RequestCtx, Hijack and the functions about connections do nothing.
package web
