#!/usr/bin/env bash
# test.sh: what every change must pass: installs what is missing, builds, and runs the tests that are
# not deep. `make check` runs everything else. The last line is "N passed, N failed, N skipped".
set -euo pipefail
cd "$(dirname "$0")/../.."
export WQ_SEED=${WQ_SEED:-1}

# step WHAT COMMAND...: what follows cannot do without it.
step() {
  local what=$1 start=$SECONDS
  shift
  "$@" || { printf '%s: FAILED\n0 passed, 1 failed, 0 skipped\n' "$what"; exit 1; }
  echo "=== $what: $((SECONDS - start)) s"
}
step packages tools/dev/deps.sh test
step build tools/dev/build.sh release
exec tools/dev/run_tests.sh
