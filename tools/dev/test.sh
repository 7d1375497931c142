#!/usr/bin/env bash
# test.sh: runs all checks, the fastest to fail first. Stops at the first failure, and prints a
# summary at the end.
set -euo pipefail
cd "$(dirname "$0")/../.."

summary=()

# step NAME COMMAND...: runs COMMAND and notes its result and time.
step() {
  local name=$1 start=$SECONDS
  shift
  printf '\n=== %s\n' "$name"
  if "$@"; then
    summary+=("$(printf '  ok      %4d s  %s' $((SECONDS - start)) "$name")")
  else
    summary+=("$(printf '  FAILED  %4d s  %s' $((SECONDS - start)) "$name")")
    finish 1
  fi
}

# note FILE: adds the last line of the test log FILE to the summary.
note() { summary+=("                   $(grep -hE 'tests passed|^total:' "$1" | tail -n 1)"); }

finish() {
  local result=passed
  [[ $1 == 0 ]] || result=FAILED
  printf '\n=== make test: %s in %d s\n' "$result" "$SECONDS"
  printf '%s\n' "${summary[@]}"
  exit "$1"
}

step 'packages' tools/dev/deps.sh all
step 'build, Release' tools/dev/build.sh release
step 'tests, Release' tools/dev/run_tests.sh release
note build/tested
step 'mutants: the tests catch planted bugs' tests/mutants/run.sh --if-changed
note build-mutants/caught/good
step 'tests, address and undefined-behaviour sanitizers' tools/dev/run_tests.sh asan
note build-asan/tested
step 'tests, thread sanitizer' tools/dev/run_tests.sh tsan
note build-tsan/tested
step 'lint: format, shellcheck, clang-tidy, thread safety' tools/dev/lint.sh
finish 0
