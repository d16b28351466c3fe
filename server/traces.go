package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/valyala/fasthttp"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace"
	"go.opentelemetry.io/otel/sdk/resource"
	"go.opentelemetry.io/otel/sdk/trace"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"darboux/handlers/web"
)

const (
	// traceFlush is how long the last spans may take on their way at the end.
	traceFlush = 5 * time.Second
	// traceUpload is how long a batch of spans may take on its way.
	traceUpload = 10 * time.Second
	// mostSpans is how many spans may wait to be sent; one more is dropped. spanBatch is how
	// many are sent together.
	mostSpans = 2048
	spanBatch = 512
)

// startTraces lets HTTP requests be traced, if that is asked for. Spans are sent in
// batches by a goroutine of the exporter's; what it can't send is dropped and reported.
func (s *server) startTraces() error {
	if s.o.HTTPTraces == "" {
		return nil
	}
	exporter, err := otlptrace.New(context.Background(), newCollector(s.o.HTTPTraces))
	if err != nil {
		return fmt.Errorf("--http-traces %s: %w", s.o.HTTPTraces, err)
	}
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) { s.report.Report("traces", "", err.Error()) }))
	provider := trace.NewTracerProvider(trace.WithBatcher(exporter, trace.WithMaxQueueSize(mostSpans), trace.WithMaxExportBatchSize(spanBatch)),
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

// collector sends spans by OTLP over HTTP. OpenTelemetry's own client for that brings all
// of gRPC along, which is as large as the rest of the daemon; this is the one call that is
// needed of it.
type collector struct {
	url    string
	client fasthttp.Client
}

// mostAnswer is the most bytes of a collector's answer that are read: it has nothing to say.
const mostAnswer = 64 * kib

func newCollector(url string) *collector {
	return &collector{url: url, client: fasthttp.Client{Name: "darboux", MaxResponseBodySize: int(mostAnswer)}}
}

// Start and Stop implement otlptrace.Client: there is nothing to be done.
func (c *collector) Start(context.Context) error { return nil }
func (c *collector) Stop(context.Context) error  { return nil }

// UploadTraces implements otlptrace.Client.
func (c *collector) UploadTraces(ctx context.Context, spans []*tracepb.ResourceSpans) error {
	// On the wire it is the same message as the service's ExportTraceServiceRequest.
	body, err := proto.Marshal(&tracepb.TracesData{ResourceSpans: spans})
	if err != nil {
		return err
	}
	req, resp := fasthttp.AcquireRequest(), fasthttp.AcquireResponse()
	defer fasthttp.ReleaseRequest(req)
	defer fasthttp.ReleaseResponse(resp)
	req.SetRequestURI(c.url)
	req.Header.SetMethod(fasthttp.MethodPost)
	req.Header.SetContentType("application/x-protobuf")
	req.SetBody(body)
	end, ok := ctx.Deadline()
	if most := time.Now().Add(traceUpload); !ok || end.After(most) {
		end = most
	}
	err = c.client.DoDeadline(req, resp, end)
	if errors.Is(err, fasthttp.ErrBodyTooLarge) {
		return fmt.Errorf("--http-traces %s: the collector's answer is over the limit of %d bytes", c.url, mostAnswer)
	}
	if err != nil {
		return fmt.Errorf("--http-traces %s: %w", c.url, err)
	}
	if status := resp.StatusCode(); status/100 != 2 {
		return fmt.Errorf("--http-traces %s: the collector answers with status %d", c.url, status)
	}
	return nil
}
