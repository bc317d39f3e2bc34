#!/bin/sh
# The main job in one go: index the history of this machine and search it. Without any history of your own it uses the small
# invented one in examples/home and a data root beside the program.
set -eu
ctx=${1:-bin/ctx}
here=$(cd "$(dirname "$0")" && pwd)

if [ -d "${CLAUDE_CONFIG_DIR:-$HOME/.claude}/projects" ] || [ -d "${CODEX_HOME:-$HOME/.codex}/sessions" ] || [ -d "$HOME/.cursor/projects" ]; then
  echo "Indexing your own history into ${CTX_DATA_ROOT:-$HOME/.ctx}; nothing leaves this machine."
  query=${2:-error}
else
  echo "No history of Claude Code, Codex or Cursor here: using the sample in examples/home."
  HOME=$here/home
  CTX_DATA_ROOT=$(cd "$(dirname "$ctx")" && pwd)/sample
  export HOME CTX_DATA_ROOT
  sample=yes
  query=${2:-idempotency key}
fi

if [ "${sample:-}" = yes ]; then
  "$ctx" index mode manual --quiet # a sample needs no background process
  imported=$("$ctx" import --all) # on its own, so that a failure ends the script
  printf '%s\n' "$imported" | sed '/^Next$/,$d' # what to do next with the sample is told below
else
  "$ctx" setup --wait
  "$ctx" index wait --timeout-seconds 3600 >/dev/null 2>&1 || "$ctx" import --all # no background process may be started here
  echo
fi
echo "\$ ctx search \"$query\" --limit 3"
"$ctx" search "$query" --limit 3
if [ "${sample:-}" = yes ]; then
  echo
  echo "Go on with the sample:  $ctx --data-root $(dirname "$ctx")/sample show session 1013d6b8"
fi
