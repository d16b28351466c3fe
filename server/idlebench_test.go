package main

import (
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"darboux/handlers/riemann"
)

// BenchmarkIdleConnections tells what 10,000 connections cost that rest after one request
// each: resident bytes a connection, and the rate of one busy connection beside them, as a
// ratio to its rate alone.
func BenchmarkIdleConnections(b *testing.B) {
	const idle = 10_000 // the daemon and the test each need a limit of open files above that
	s := benchDaemon(b)
	rate := func() float64 {
		stop := ingest(b, s.tcp, 1)
		defer stop()
		before, begin := ingested.Load(), time.Now()
		time.Sleep(2 * time.Second) // the time that is measured
		return float64(ingested.Load()-before) / time.Since(begin).Seconds()
	}
	for b.Loop() {
		alone := benchRow{PerCPUSecond: []float64{rate(), rate(), rate()}}
		before := residentBytes(b, s.pid)
		conns := make([]net.Conn, idle)
		for i := range conns {
			c, err := net.Dial("tcp", s.tcp)
			if err != nil {
				b.Fatal(err)
			}
			conns[i] = c
			if _, err := c.Write([]byte{0, 0, 0, 0}); err != nil {
				b.Fatal(err)
			}
			if _, err := c.Read(make([]byte, len(riemann.Ack))); err != nil {
				b.Fatal(err)
			}
		}
		each := float64(residentBytes(b, s.pid)-before) / idle
		beside := benchRow{PerCPUSecond: []float64{rate(), rate(), rate()}}
		for _, c := range conns {
			c.Close()
		}
		b.ReportMetric(each, "resident-B/conn")
		b.ReportMetric(alone.median(), "events/s-alone")
		b.ReportMetric(beside.median()/alone.median(), "beside/alone")
	}
}

// residentBytes is the memory of a process that is in RAM (proc(5), statm).
func residentBytes(b *testing.B, pid int) int64 {
	b.Helper()
	statm, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "statm"))
	if err != nil {
		b.Fatal(err)
	}
	pages, err := strconv.ParseInt(strings.Fields(string(statm))[1], 10, 64)
	if err != nil {
		b.Fatal(err)
	}
	return pages * int64(os.Getpagesize())
}
