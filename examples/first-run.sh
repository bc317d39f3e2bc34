#!/bin/sh
# The main job in one go: index the history of this machine and search it. Without any history of your own it uses the small
# invented one in examples/home and a temporary data root, so that nothing is left behind.
set -eu
ctx=${1:-bin/ctx}
here=$(cd "$(dirname "$0")" && pwd)

if [ -d "${CLAUDE_CONFIG_DIR:-$HOME/.claude}/projects" ]; then
  echo "Indexing your own history into ${CTX_DATA_ROOT:-$HOME/.ctx}; nothing leaves this machine."
  query=${2:-error}
else
  echo "No Claude Code history here: using the sample in examples/home."
  scratch=$(mktemp -d)
  trap 'rm -rf "$scratch"' EXIT
  HOME=$here/home
  CTX_DATA_ROOT=$scratch/ctx
  export HOME CTX_DATA_ROOT
  query=${2:-idempotency key}
fi

"$ctx" setup
echo
echo "\$ ctx search \"$query\" --limit 3"
"$ctx" search "$query" --limit 3
