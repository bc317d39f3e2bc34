# Everything a person or CI runs in this repository. No target needs cgo or the network beyond Go modules.
export CGO_ENABLED = 0

GO      ?= go
BIN     ?= bin
PREFIX  ?= $(HOME)/.local
VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)
LDFLAGS  = -s -w -X github.com/agenthistory/ctx/host/cli.version=$(VERSION)
PLUGINS  = claude codex cursor

.PHONY: build plugins run test conformance lint cross e2e test-long bench relevance proto install clean

build: ## bin/ctx, the one file that people install
	$(GO) build -ldflags '$(LDFLAGS)' -o $(BIN)/ctx ./cmd/ctx

plugins: ## each built-in provider as an executable of its own
	for p in $(PLUGINS); do \
	  $(GO) build -ldflags '-s -w' -o $(BIN)/ctx-provider-$$p ./plugins/$$p/cmd/ctx-provider-$$p || exit 1; \
	done

run: build ## build, index your own history (or a small sample) and search it
	./examples/first-run.sh $(BIN)/ctx

test: ## all tests, offline
	$(GO) test ./...

conformance: build plugins ## the provider kit against the real executables
	for p in $(PLUGINS); do $(GO) test -count=1 -run Conformance ./plugins/$$p/... || exit 1; done
	cd examples/provider-notes && $(GO) test -count=1 .

lint:
	@test -z "$$(gofmt -l $$(git ls-files '*.go'))" || { gofmt -l $$(git ls-files '*.go'); exit 1; }
	$(GO) vet ./...

cross: ## the three systems must compile
	for os in linux darwin windows; do GOOS=$$os $(GO) build -o /dev/null ./cmd/ctx || exit 1; done

e2e: build ## with programs of others: MCP clients, parsers of configuration files, a browser, strace
	./test/e2e/run $(BIN)/ctx
	./test/clients/run $(BIN)/ctx
	./test/page/run $(BIN)/ctx
	./test/network/run $(BIN)/ctx

test-long: ## what the tests only sample: 200 refreshes under eight servers
	CTX_TEST_REFRESHES=200 $(GO) test -count=1 -run TestServersDuringRefreshes ./host/mcp

bench: build ## see bench/README.md
	$(GO) run ./bench -ctx $(BIN)/ctx

relevance: build ## ranking against judged queries, see docs/relevance.md; CTX_RELEVANCE_HOME names their histories
	@test -n "$(CTX_RELEVANCE_HOME)" || { echo "set CTX_RELEVANCE_HOME to the home directory with the judged histories"; exit 1; }
	$(GO) run ./bench/relevance -ctx $(BIN)/ctx -home "$(CTX_RELEVANCE_HOME)" -misses

proto: ## regenerate sdkplugin/historyv1
	./sdkplugin/historyv1/generate.sh

install: build
	install -d $(PREFIX)/bin
	install -m 0755 $(BIN)/ctx $(PREFIX)/bin/ctx

clean:
	rm -rf $(BIN)
