# make help lists the targets. Everything is offline but for Go modules and,
# once, the linter.
SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help

LINT_VERSION := 2.15.0
LINT := .cache/bin/golangci-lint-$(LINT_VERSION)
PLATFORMS := linux/amd64 linux/arm64 darwin/amd64 darwin/arm64 windows/amd64 windows/arm64
FUZZTIME ?= 60s
ARGS ?=
WORLDS ?= 100000
CHECKS ?= 300
BENCHTIME ?= 1000x
SEED ?= 1

export GOLANGCI_LINT_CACHE := $(CURDIR)/.cache/golangci

.PHONY: help run build cross test properties lint cover fuzz mutants interop bench xterm unit browser web web-check screenshot

help: ## what can be made
	@grep -hE '^[a-z-]+:.*##' Makefile | sed -E 's/:[^#]*## /\t/' | expand -t 12

run: ## start server and runner from source: make run ARGS="--listen 127.0.0.1:8080"
	go run ./cmd/outrunner up $(ARGS)

build: ## bin/outrunner, static
	CGO_ENABLED=0 go build -trimpath -ldflags '-s -w' -o bin/outrunner ./cmd/outrunner

cross: ## compile for every platform that is promised
	@for p in $(PLATFORMS); do echo "build $$p"; \
		CGO_ENABLED=0 GOOS=$${p%/*} GOARCH=$${p#*/} go build -o /dev/null ./...; done

test: ## every test: those of make browser, then those of make unit
	@$(MAKE) --no-print-directory browser
	@$(MAKE) --no-print-directory unit

unit: ## every test that needs no browser, with the race detector, in a random order
	@go test -race -shuffle=on -timeout 5m ./...

# Without the race detector, which has nothing to find in the core, and with a
# collector that comes less often: the time goes into small, short-lived values.
properties: ## the core's invariants in WORLDS (100000) random worlds; the same ones for the same SEED (1)
	@GOGC=400 go test -count=1 -v -timeout 2h -run '^(TestInvariants|TestOrderOfReads)$$' ./runner/core -worlds $(WORLDS) -rapid.seed $(SEED)

# What a failed test leaves, pictures of its pages above all, is in .cache/browser.
browser: ## the web pages in a real Chromium, which is installed if it is missing
	@test/browser/setup.sh
	@rm -rf .cache/browser && mkdir -p .cache/browser
	@go test -C test/browser -count=1 -timeout 10m -parallel 4 -artifacts -outputdir $(CURDIR)/.cache/browser ./...

bench: ## how fast it is, in relation to what it could be (docs/performance.md); BENCHTIME=1000x
	@go test -run '^$$' -bench . -benchtime $(BENCHTIME) -timeout 20m ./test/bench

# Its programs come from their registries, the first time; its table is printed
# whatever the outcome.
interop: ## against the published Omnigent server, runner and client library, and a coding agent
	@installed=$$(test/interop/setup.sh); export $$installed OUTRUNNER_INTEROP_RESULTS=$$(mktemp); \
		status=0; go test -tags interop -count=1 -timeout 15m -p 2 -parallel 5 ./test/interop/... || status=$$?; \
		go run -tags interop ./test/interop/table "$$OUTRUNNER_INTEROP_RESULTS"; \
		rm -f "$$OUTRUNNER_INTEROP_RESULTS"; exit $$status

# xterm.js comes from the npm registry, the first time.
xterm: ## the runner's model of a screen against the terminal of browsers, in CHECKS (300) random programs
	@go test -tags xterm -count=1 -run '^TestBrowser' ./internal/terminal/screen -rapid.checks=$(CHECKS)

lint: $(LINT) ## format, vet on three systems, golangci-lint
	@unformatted=$$(gofmt -l $$(git ls-files -co --exclude-standard '*.go')); \
		if [[ -n $$unformatted ]]; then echo "run gofmt -w on:"; echo "$$unformatted"; exit 1; fi
	@for os in linux darwin windows; do echo "vet $$os"; CGO_ENABLED=0 GOOS=$$os go vet ./...; done
	@for tag in crashpoints interop xterm; do echo "vet $$tag"; CGO_ENABLED=0 go vet -tags $$tag ./...; done
	@echo "vet test/browser"; go vet -C test/browser ./...
	@echo "golangci-lint"; $(LINT) run --build-tags interop,xterm ./...; cd test/browser; $(CURDIR)/$(LINT) run ./...

WEB := internal/web/app

# The pages' tools come from the npm registry; the program itself needs none of
# them, since what they build is committed.
web: $(WEB)/node_modules/.package-lock.json ## build the pages from internal/web/app into internal/web/dist
	npm --prefix $(WEB) run build

web-check: ## lint and test the pages, and see that what is committed is what they build
	npm --prefix $(WEB) ci --no-audit --no-fund
	npm --prefix $(WEB) run lint
	npm --prefix $(WEB) test
	npm --prefix $(WEB) run build
	@if [[ -n $$(git status --porcelain -- internal/web/dist) ]]; then \
		git status --short -- internal/web/dist; echo "internal/web/dist is not what the source builds: run make web and commit it"; exit 1; fi

screenshot: build $(WEB)/node_modules/.package-lock.json ## docs/screenshot.png, of a real server and a played agent; needs chromium
	cd $(WEB) && node demo/shoot.mjs $(CURDIR)/bin/outrunner $(CURDIR)/docs/screenshot.png

$(WEB)/node_modules/.package-lock.json: $(WEB)/package-lock.json
	npm --prefix $(WEB) ci --no-audit --no-fund

cover: ## coverage, per function, in cover.out
	go test -coverpkg=./... -coverprofile=cover.out ./...
	go tool cover -func=cover.out | tail -n 1

mutants: ## take each rule of the core out: a test must notice (some minutes)
	go test -tags mutants -run TestMutants -timeout 60m ./test/mutants

fuzz: ## each fuzz test for FUZZTIME
	@for pkg in $$(go list ./...); do \
		for f in $$(go test -list '^Fuzz' "$$pkg" | grep '^Fuzz' || true); do \
			echo "fuzz $$pkg $$f"; go test -run '^$$' -fuzz "^$$f\$$" -fuzztime $(FUZZTIME) "$$pkg"; \
		done; done

# The linter of exactly this version: the one in PATH if it is that, else built
# into .cache, so that nobody's report differs from CI's.
$(LINT):
	@mkdir -p $(@D)
	@if found=$$(command -v golangci-lint) && [[ $$($$found version) == *" $(LINT_VERSION) "* ]]; then \
		ln -s "$$found" $@; \
	else \
		echo "building golangci-lint $(LINT_VERSION)"; \
		GOFLAGS= GOBIN=$(CURDIR)/.cache/bin go install github.com/golangci/golangci-lint/v2/cmd/golangci-lint@v$(LINT_VERSION); \
		mv .cache/bin/golangci-lint $@; \
	fi
