package web

import (
	"log/slog"
	"time"

	"github.com/valyala/fasthttp"
)

// AccessLog observes by a line in log for each exchange.
func AccessLog(log *slog.Logger) Observe {
	return func(ctx *fasthttp.RequestCtx) End {
		begin := time.Now()
		method, target, peer := string(ctx.Method()), string(ctx.RequestURI()), ctx.RemoteAddr().String()
		return func(r Result) {
			fields := []any{"peer", peer, "method", method, "target", target, "status", r.Status, "bytes", r.Bytes, "took", time.Since(begin)}
			if r.Err != nil {
				fields = append(fields, "error", r.Err.Error())
			}
			log.Info("http", fields...)
		}
	}
}
