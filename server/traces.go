package main

import (
	"context"
	"fmt"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/sdk/resource"
	"go.opentelemetry.io/otel/sdk/trace"

	"darboux/handlers/web"
)

// traceFlush is how long the last spans may take on their way at the end.
const traceFlush = 5 * time.Second

// startTraces lets HTTP requests be traced, if that is asked for. Spans are sent in
// batches by a goroutine of the exporter's; what it can't send is dropped and reported.
func (s *server) startTraces() error {
	if s.o.HTTPTraces == "" {
		return nil
	}
	exporter, err := otlptracehttp.New(context.Background(), otlptracehttp.WithEndpointURL(s.o.HTTPTraces))
	if err != nil {
		return fmt.Errorf("--http-traces %s: %w", s.o.HTTPTraces, err)
	}
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) { s.report.Report("traces", "", err.Error()) }))
	provider := trace.NewTracerProvider(trace.WithBatcher(exporter),
		trace.WithResource(resource.NewSchemaless(attribute.String("service.name", "darboux"), attribute.String("service.version", version()))))
	s.web.Observe = web.Both(s.web.Observe, web.Traces(provider))
	s.parts = append(s.parts, part{"traces", func(ctx context.Context) error {
		ctx, cancel := context.WithTimeout(ctx, traceFlush)
		defer cancel()
		if err := provider.Shutdown(ctx); err != nil {
			s.report.Report("traces", "", "the last ones are lost: "+err.Error())
		}
		return nil
	}})
	return nil
}
