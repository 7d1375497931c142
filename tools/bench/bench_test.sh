#!/usr/bin/env bash
# bench_test.sh WQBENCH: runs every scenario with few keys. Each must find its own result right, and
# print JSON with all figures. A wrong result must fail the run, and leave no files behind.
set -euo pipefail

wqbench=${1:?usage: bench_test.sh WQBENCH}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
mkdir "$scratch/disk"

fail() {
  printf '%s\n' "$*" >&2
  exit 1
}

"$wqbench" --keys 1000 --rounds 2 --dir "$scratch/disk" -o json >"$scratch/report.json"

# expect WHAT FILTER: fails unless the jq filter is true of the report.
expect() { jq -e "$2" "$scratch/report.json" >"$scratch/found" || fail "$1: $(<"$scratch/found")"; }

listed=$("$wqbench" --help | sed -n '/^Scenarios:/,/^$/s/^  \([a-z]*\) .*/\1/p' | tr '\n' ' ')
run=$(jq -r '.scenarios[].scenario' "$scratch/report.json" | tr '\n' ' ')
[[ $listed == "$run" ]] || fail "listed: $listed, run: $run"
all='*fill*drain*mix*ack*batch*bindings*delay*backoff*lanes*groups*priorities*sources*recover*churn*latency*pressure*viewers*scale*memory*idle*server*replication*'
# shellcheck disable=SC2053
[[ $run == $all ]] || fail "a scenario is missing: $run"
expect 'every scenario has rows, or is not built' \
  'all(.scenarios[]; (.rows | length > 0) or any(.notes[]; test("not built")))'
expect 'every figure has a value a round' \
  'all(.scenarios[].figures[]; (.values | length > 0) and (.min <= .median) and (.median <= .max))'
expect 'rates and times are positive' \
  'all(.scenarios[].figures[]; .median > 0 or .unit == "times" or .unit == "bytes")'
expect 'every row has a figure, and a ratio or a bound' \
  'all(.scenarios[].rows[]; (.figure | type == "number") and (has("ratio") or has("wanted")))'
expect 'a bound is met or is not' \
  'all(.scenarios[].rows[] | select(has("wanted")); .met | type == "boolean")'
expect 'the machine is known' \
  '.machine | .cores > 0 and .memory_mib > 0 and .kernel != "" and .build != "" and
    (.process_log | test("process log"))'

status=0
"$wqbench" --scenario wrong-result --dir "$scratch/disk" 2>"$scratch/error" || status=$?
[[ $status == 1 ]] || fail "a wrong result: exit status $status"
grep -q 'wrong result: .*1 rather than 2' "$scratch/error" || fail "a wrong result is not reported"

status=0
"$wqbench" --scenario ack-lost --keys 1000 --dir "$scratch/disk" 2>"$scratch/error" || status=$?
[[ $status == 1 ]] || fail "lost acknowledged Adds: exit status $status"
grep -q 'wrong result: acknowledged Adds after SIGKILL' "$scratch/error" ||
  fail "lost acknowledged Adds are reported as: $(<"$scratch/error")"

status=0
"$wqbench" --scenario no-such 2>/dev/null || status=$?
[[ $status == 2 ]] || fail "a scenario that does not exist: exit status $status"

[[ -z $(ls "$scratch/disk") ]] || fail "left behind: $(ls "$scratch/disk")"
