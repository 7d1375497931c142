#!/usr/bin/env bash
# gtest.sh BINARY SHARD/SHARDS [FILTER]: runs every SHARDS-th test of a binary of GoogleTest, from the
# SHARD-th on, in one process. If a test ends the process, or hangs, it has failed, and those behind it
# run in another process. Prints the output of the tests that failed, the command that runs each of
# them alone, and as its last line "N passed, N failed, N skipped". With RESULTS=dir that line is
# written to dir/BINARY.SHARD, too, and below it a line for each test that failed.
set -euo pipefail

binary=$1 shard=${2%/*} shards=${2#*/} filter=${3:-*}
name=$(basename "$binary")
limit=3600  # Seconds for a process; one that hangs never ends by itself.
unset "${!GTEST_@}"  # Of the user: they change what is printed.
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

"$binary" --gtest_list_tests --gtest_filter="$filter" >"$scratch/list"
# A line "Suite.", and below it a line "  Test" for each of its tests; a comment may follow.
awk -v first="$shard" -v every="$shards" '
  /^[^ ].*\./ { suite = $1 }
  /^  [^ ]/ && (suite $1) !~ /DISABLED_/ { if (number++ % every == first - 1) print suite $1 }
' "$scratch/list" >"$scratch/left"
[[ -s $scratch/list ]] || { echo "gtest.sh: no test of $binary matches $filter" >&2; exit 2; }

# Reads the output of a process. Writes a line "RESULT TEST" for each test that began to `results`, and
# prints the output of those that failed.
read -r -d '' reader <<'AWK' || true
  function ended(result) {
    print result, test >results
    if (result == "failed") printf "%s", output
    test = ""
  }
  test == "" {
    if (match($0, /\[ RUN      \] /)) { test = substr($0, RSTART + RLENGTH); output = $0 "\n" }
    next
  }
  { output = output $0 "\n" }
  match($0, /\[(       OK|  FAILED |  SKIPPED) \] /) {
    marker = substr($0, RSTART, RLENGTH)
    rest = substr($0, RSTART + RLENGTH)
    if (index(rest, test) != 1 || substr(rest, length(test) + 1) !~ /^(,| \()/) next
    ended(marker ~ /OK/ ? "passed" : marker ~ /FAILED/ ? "failed" : "skipped")
  }
  END { if (test != "") { output = output "It ended the process, or hung.\n"; ended("failed") } }
AWK

touch "$scratch/results"
while [[ -s $scratch/left ]]; do
  printf -- '--gtest_filter=%s\n' "$(paste -sd: "$scratch/left")" >"$scratch/flags"
  code=0
  timeout --foreground --kill-after=10 "$limit" "$binary" --gtest_flagfile="$scratch/flags" --gtest_color=no \
    >"$scratch/output" 2>&1 || code=$?
  : >"$scratch/new"
  awk -v results="$scratch/new" "$reader" "$scratch/output"
  # What is wrong outside of a test: nothing began, or the process failed behind its last test.
  if [[ ! -s $scratch/new ]] || { ((code)) && ! grep -q ^failed "$scratch/new"; }; then
    tail -n 100 "$scratch/output"
    echo 'failed *' >>"$scratch/results"
    [[ -s $scratch/new ]] || break
  fi
  cat "$scratch/new" >>"$scratch/results"
  cut -d' ' -f2 "$scratch/new" | grep -vxFf - "$scratch/left" >"$scratch/behind" || true
  # It ran none of those that it should.
  [[ $(wc -l <"$scratch/behind") -lt $(wc -l <"$scratch/left") ]] ||
    { echo 'failed *' >>"$scratch/results"; break; }
  mv "$scratch/behind" "$scratch/left"
done

count() { grep -c "^$1 " "$scratch/results" || true; }
{
  echo "$(count passed) passed, $(count failed) failed, $(count skipped) skipped"
  while read -r result test; do
    [[ $result != failed ]] || printf '%q --gtest_filter=%q\n' "$binary" "$test"
  done <"$scratch/results"
} >"$scratch/summary"
[[ -z ${RESULTS:-} ]] || cp "$scratch/summary" "$RESULTS/$name.$shard"
tail -n +2 "$scratch/summary"
head -n 1 "$scratch/summary"
! grep -q ^failed "$scratch/results"
