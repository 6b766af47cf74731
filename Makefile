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

export GOLANGCI_LINT_CACHE := $(CURDIR)/.cache/golangci

.PHONY: help run build cross test properties lint cover fuzz mutants interop web web-check screenshot

help: ## what can be made
	@grep -hE '^[a-z-]+:.*##' Makefile | sed -E 's/:[^#]*## /\t/' | expand -t 12

run: ## start server and runner from source: make run ARGS="--listen 127.0.0.1:8080"
	go run ./cmd/outrunner up $(ARGS)

build: ## bin/outrunner, static
	CGO_ENABLED=0 go build -trimpath -ldflags '-s -w' -o bin/outrunner ./cmd/outrunner

cross: ## compile for every platform that is promised
	@for p in $(PLATFORMS); do echo "build $$p"; \
		CGO_ENABLED=0 GOOS=$${p%/*} GOARCH=$${p#*/} go build -o /dev/null ./...; done

test: ## every test, with the race detector, in a random order
	@go test -race -shuffle=on -timeout 5m ./...

properties: ## the core's invariants in WORLDS (100000) random worlds; SEED repeats a run
	@go test -count=1 -timeout 2h -run '^(TestInvariants|TestOrderOfReads)$$' ./runner/core -worlds $(WORLDS) $(if $(SEED),-rapid.seed $(SEED))

# Its programs come from their registries, the first time; its table is printed
# whatever the outcome.
interop: ## against the published Omnigent server, runner and client library, and a coding agent
	@installed=$$(test/interop/setup.sh); export $$installed OUTRUNNER_INTEROP_RESULTS=$$(mktemp); \
		status=0; go test -tags interop -count=1 -timeout 15m -p 2 -parallel 5 ./test/interop/... || status=$$?; \
		go run -tags interop ./test/interop/table "$$OUTRUNNER_INTEROP_RESULTS"; \
		rm -f "$$OUTRUNNER_INTEROP_RESULTS"; exit $$status

lint: $(LINT) ## format, vet on three systems, golangci-lint
	@unformatted=$$(gofmt -l $$(git ls-files -co --exclude-standard '*.go')); \
		if [[ -n $$unformatted ]]; then echo "run gofmt -w on:"; echo "$$unformatted"; exit 1; fi
	@for os in linux darwin windows; do echo "vet $$os"; CGO_ENABLED=0 GOOS=$$os go vet ./...; done
	@for tag in crashpoints interop; do echo "vet $$tag"; CGO_ENABLED=0 go vet -tags $$tag ./...; done
	@echo "golangci-lint"; $(LINT) run --build-tags interop ./...

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
