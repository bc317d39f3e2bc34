# Everything a person or CI runs in this repository. No target needs cgo or the network beyond Go modules.
export CGO_ENABLED = 0

GO      ?= go
BIN     ?= bin
PREFIX  ?= $(HOME)/.local
VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)
LDFLAGS  = -s -w -X github.com/agenthistory/ctx/host/cli.version=$(VERSION)
PLUGINS  = claude

.PHONY: build plugins run test conformance lint cross bench proto install clean

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

lint:
	@test -z "$$(gofmt -l $$(git ls-files '*.go'))" || { gofmt -l $$(git ls-files '*.go'); exit 1; }
	$(GO) vet ./...

cross: ## the three systems must compile
	for os in linux darwin windows; do GOOS=$$os $(GO) build -o /dev/null ./cmd/ctx || exit 1; done

bench: build ## see bench/README.md
	$(GO) run ./bench -ctx $(BIN)/ctx

proto: ## regenerate sdkplugin/historyv1
	./sdkplugin/historyv1/generate.sh

install: build
	install -d $(PREFIX)/bin
	install -m 0755 $(BIN)/ctx $(PREFIX)/bin/ctx

clean:
	rm -rf $(BIN)
