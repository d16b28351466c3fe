package main

import "log/slog"

func serve(o *Options, log *slog.Logger) int { return 0 }
