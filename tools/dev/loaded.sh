#!/usr/bin/env bash
# loaded.sh [TIMES]: runs the tests of `make test` TIMES times (10), each beside a busy loop for each
# processor: none of them may depend on how loaded the machine is. Ends with 1 if a run was red.
set -euo pipefail
cd "$(dirname "$0")/../.."

times=${1:-10}
tools/dev/build.sh release
loops=()
trap '((${#loops[@]} == 0)) || kill "${loops[@]}"' EXIT
for ((i = 0; i < $(nproc); ++i)); do
  (while :; do :; done) &
  loops+=("$!")
done
red=0
for ((run = 1; run <= times; ++run)); do
  start=$SECONDS
  log=build/loaded.$run.log
  FORCE=1 WQ_SEED=1 tools/dev/run_tests.sh >"$log" 2>&1 || red=$((red + 1))
  echo "run $run: $((SECONDS - start)) s: $(tail -n 1 "$log")"
done
echo "$((times - red)) passed, $red failed"
((red == 0))
