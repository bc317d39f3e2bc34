#!/bin/sh
# Regenerates history.pb.go and history_grpc.pb.go from history.proto.
#
# Needs go and python3 with venv. The compiler comes from the Python package
# grpcio-tools and is put into a private virtual environment; the generators
# are built by the go command in the versions pinned here. Nothing is left
# outside the build directory (CTX_PROTO_TOOLS, default: a cache directory).
set -eu

GRPCIO_TOOLS=1.85.1
PROTOC_GEN_GO=v1.36.12
PROTOC_GEN_GO_GRPC=v1.6.2

here=$(cd "$(dirname "$0")" && pwd)
tools=${CTX_PROTO_TOOLS:-${XDG_CACHE_HOME:-$HOME/.cache}/ctx-proto-tools}
mkdir -p "$tools/bin"

if ! "$tools/venv/bin/python" -c "import grpc_tools" 2>/dev/null; then
	python3 -m venv "$tools/venv"
	"$tools/venv/bin/python" -m pip install --quiet "grpcio-tools==$GRPCIO_TOOLS"
fi
GOBIN="$tools/bin" go install "google.golang.org/protobuf/cmd/protoc-gen-go@$PROTOC_GEN_GO"
GOBIN="$tools/bin" go install "google.golang.org/grpc/cmd/protoc-gen-go-grpc@$PROTOC_GEN_GO_GRPC"

cd "$here"
PATH="$tools/bin:$PATH" "$tools/venv/bin/python" -m grpc_tools.protoc \
	--proto_path=. \
	--go_out=. --go_opt=paths=source_relative \
	--go-grpc_out=. --go-grpc_opt=paths=source_relative \
	history.proto
