#!/usr/bin/env bash
# Token figures beside npm tiktoken, on the same text in the same run. BUILD names another build than build/release.
set -euo pipefail
cd "$(dirname "$0")/../.."
program="${BUILD:-build/release}/bin/bench_text"
[ -x "$program" ] || { echo "bench/text/run.sh: $program is not there; build the target bench_text first" >&2; exit 1; }

cache="${XDG_CACHE_HOME:-$HOME/.cache}/tertulia/rivals/tiktoken-1.0.22"
if [ ! -d "$cache/node_modules/tiktoken" ]; then
  mkdir -p "$cache"
  npm install --silent --loglevel=error --no-audit --no-fund --prefix "$cache" tiktoken@1.0.22
fi
work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT
node bench/text/make_corpus.mjs "$work/corpus" 5
node bench/text/tokens_rival.mjs "$cache/node_modules/tiktoken" "$work/corpus" >"$work/rival.json"
"$program" "$work/corpus" "$work/rival.json"
