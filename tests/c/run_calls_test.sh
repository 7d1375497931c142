#!/usr/bin/env bash
# run_calls_test.sh CALLS: runs the program of C calls on a store that does not exist yet.
set -euo pipefail

calls=$(realpath -- "${1:?usage: run_calls_test.sh CALLS}")
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
"$calls" "$scratch/store"
