# `make` alone prints the targets. Everything needs Go; the version that go.mod
# names is fetched by any Go from 1.21 on.

.DEFAULT_GOAL := help
.PHONY: help build run test packages lint race quick fuzz bench bench-http bench-queries bench-index load sweep udp clean
.NOTPARALLEL:

GO       ?= go
ARGS     ?=
PKG      ?= ./...
FUZZTIME ?= 10s
BENCH    ?= .
BOTH     := 'bin/darboux-load naive --tcp {addr}' 'bin/darboux --udp= --http= --tcp {addr}'

# The commit for builds to which Go can't tell it, such as those of a checkout that belongs
# to somebody else; nothing without git.
COMMIT   := $(shell git -c safe.directory='*' describe --always --abbrev=12 --dirty=+changes 2>/dev/null)
STAMP    := -ldflags '-X main.builtFrom=$(COMMIT)'

help: ## print this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-13s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

build: ## build bin/darboux and bin/darboux-load
	$(GO) build $(STAMP) -o bin/darboux ./server
	$(GO) build $(STAMP) -o bin/darboux-load ./loadtest

run: ## start the server on 127.0.0.1:5555; flags by ARGS="--loops 2"
	$(GO) build $(STAMP) -o bin/darboux ./server
	exec bin/darboux $(ARGS)

test: packages lint race plain ## all that must pass before a change lands; sets up what it needs

packages: ## install the Debian packages that the tests use, if missing
	@.ci/packages

lint: ## gofmt, go vet, staticcheck
	@unformatted=$$(gofmt -l $$(find . -name '*.go' -not -path './.*')); \
	test -z "$$unformatted" || { echo "not formatted by gofmt:"; echo "$$unformatted"; exit 1; }
	$(GO) vet $(PKG)
	$(GO) tool staticcheck $(PKG)
	$(GO) vet -tags long ./server
	$(GO) tool staticcheck -tags long ./server

race: ## the tests under the race detector
	$(GO) test -race -count=1 -timeout 20m $(PKG)

plain: ## what can't run, or not as much, under the race detector, such as tests that count memory
	GO=$(GO) .ci/plain $(PKG)

fuzz: ## run each fuzz target for FUZZTIME=10s
	@for package in $$($(GO) list $(PKG)); do \
		for target in $$($(GO) test -list '^Fuzz' $$package | grep '^Fuzz'); do \
			echo "$$package $$target"; \
			$(GO) test -run '^$$' -fuzz "^$$target\$$" -fuzztime $(FUZZTIME) $$package || exit 1; \
		done; \
	done

bench: build ## run the benchmarks, and compare the server with the naive one; BENCH=regexp and PKG=./frame choose
	$(GO) test -run '^$$' -bench '$(BENCH)' -benchmem $(PKG)
	bin/darboux-load compare --rounds 3 --duration 3s --connections 8 --pipeline 64 --batch 1 --out docs/results/naive-batch-1 $(BOTH)
	bin/darboux-load compare --rounds 3 --duration 3s --connections 8 --pipeline 64 --batch 100 --out docs/results/naive-batch-100 $(BOTH)

bench-http: ## HTTP beside fasthttp's server and net/http, and what a scrape of /metrics costs; result to docs/results/http.json
	DARBOUX_BENCH_OUT=$(CURDIR)/docs/results/http.json DARBOUX_BENCH_SECONDS=2 DARBOUX_BENCH_ROUNDS=9 \
		$(GO) test -run '^$$' -bench 'HTTPServers|Scrape' -benchtime 1x -timeout 30m ./server

bench-queries: ## queries at a million entries, beside a naive scan and what they can't be faster than, alone and during ingestion
	$(GO) test -run '^$$' -bench '^BenchmarkQueries$$' -benchtime 20x -timeout 30m ./handlers/index
	$(GO) test -run '^$$' -bench '^Benchmark(QueryInHandler|Bystander)$$' -timeout 30m ./handlers

INDEX := $(GO) test -run '^$$' -timeout 60m ./handlers/index -benchtime
bench-index: ## the index at a million and ten million entries: beside a map of structs, with one and two goroutines, growing, expiring, written and loaded
	$(INDEX) 6s -bench '^BenchmarkBesideStructs$$'
	$(INDEX) 5000x -bench '^BenchmarkPostings$$'
	$(INDEX) 400x -bench '^BenchmarkTwoGoroutines$$'
	$(INDEX) 5x -bench '^BenchmarkSnapshot$$'
	$(INDEX) 1x -bench '^BenchmarkGrowth$$' -many 10000000
	$(INDEX) 1000x -bench '^BenchmarkManyBesideOne$$' -many 10000000
	$(INDEX) 30x -bench '^Benchmark(Expire|NothingDue)$$' -many 10000000

load: build ## run the load client against a server that it starts; results to bin/load.json and bin/load.html
	bin/darboux-load --start 'bin/darboux --udp= --http= --tcp {addr}' --duration 10s --json bin/load.json --html bin/load.html

sweep: build ## [long] try loops x handlers x pipeline x batch; table and heat map to docs/results/
	bin/darboux-load sweep --start 'bin/darboux --udp= --http= --tcp {addr} --loops {loops} --handlers {handlers}' --out docs/results/sweep

UDP := --proto udp --duration 5s --event-size 197
udp: build ## [long] datagrams of 200 bytes at rising rates, a bare loop and the server in turns
	@for rate in 25k 50k 100k 200k 300k; do for round in 1 2 3; do \
		bin/darboux-load $(UDP) --rate $$rate --label "bare loop" --start 'bin/darboux-load sink --listen {addr}' || [ $$? = 3 ] || exit 1; \
		bin/darboux-load $(UDP) --rate $$rate --label darboux --start 'bin/darboux --http= --tcp {addr} --udp {addr} --self-events 100ms' || [ $$? = 3 ] || exit 1; \
	done; done

long: long-flood long-kills long-snapshot long-reply ## [long] all of the next four; results to docs/results/

long-flood: ## [long] 1,000 clients that flood for a minute and never read; memory and bystander
	$(GO) test -count=1 -tags long -run '^TestLongFlood$$' -v ./server

long-kills: ## [long] kill the server a hundred times in the middle of a snapshot
	$(GO) test -count=1 -run '^TestSnapshotWriterKilled$$' ./handlers/index -kills 100
	$(GO) test -count=1 -tags long -run '^TestLongKills$$' -v ./server

long-snapshot: ## [long] snapshots of a million entries during full ingestion
	$(GO) test -count=1 -tags long -run '^TestLongSnapshot$$' -v ./server

long-reply: ## [long] a reply of a million events to a reader of 1 MB a second, during full ingestion
	$(GO) test -count=1 -tags long -timeout 30m -run '^TestLongReply$$' -v ./server

clean: ## remove bin/
	rm -rf bin
