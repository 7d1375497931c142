#!/usr/bin/env bash
# coverage.sh: which lines and branches of base/, storage/, engine/ and server/ the tests
# run: each file with what is not run, then each folder and the total. Builds
# build-coverage/ and runs the tests that link these folders, with few rounds (the test preset
# `coverage`).
#
# Not counted as branches: those of exceptions; those that the compiler adds on lines without a
# condition (the end of temporary objects); the failing side of WQ_CHECK, which ends the process.
set -euo pipefail
cd "$(dirname "$0")/../.."

dir=build-coverage
tools/dev/build.sh coverage all deep
find "$dir" -name '*.gcda' -delete
ctest --preset coverage -j "$(nproc)" | tee "$dir/tested.log" | tail -n 30

gcovr --root . --filter base/ --filter storage/ --filter engine/ --filter server/ \
  --exclude-throw-branches \
  --exclude-branches-by-pattern '^(?!.*(\b(if|for|while|case|switch)\b|\?|&&|\|\|))|.*WQ_CHECK' \
  -j "$(nproc)" --json "$dir/coverage.json" "$dir"

# file, lines run, lines, branches taken, branches, lines not run, lines with a branch not taken
jq -r '
  def hit: map(select(.count > 0));
  def numbers: map(.line_number | tostring) | join(" ");
  .files[] | [.lines[] | select((."gcovr/noncode" or ."gcovr/excluded") | not)] as $lines |
  [$lines[].branches[]] as $branches |
  [.file, ($lines | hit | length), ($lines | length),
   ($branches | hit | length), ($branches | length),
   ($lines | map(select(.count == 0)) | numbers),
   ($lines | map(select(.count > 0 and any(.branches[]; .count == 0))) | numbers)] | @tsv
' "$dir/coverage.json" | sort >"$dir/coverage.tsv"

folders=$(cut -f1 "$dir/coverage.tsv" | sed 's|/[^/]*$||' | sort -u | tr '\n' ' ')
awk -F'\t' -v folders="$folders" '
  function percent(part, all) { return all ? 100 * part / all : 100 }
  function row(name, l, ln, b, bn) {
    printf "%-38s %6.1f %% of %5d %6.1f %% of %5d\n", name, percent(l, ln), ln, percent(b, bn), bn
  }
  BEGIN {
    printf "%-38s %17s %17s\n", "", "lines", "branches"
  }
  {
    row($1, $2, $3, $4, $5)
    if ($6 != "") printf "    not run: %s\n", $6
    if ($7 != "") printf "    branches not taken in: %s\n", $7
    folder = $1; sub(/\/[^\/]*$/, "", folder)
    split(folder " total", sums, " ")
    for (i in sums) {
      s = sums[i]
      l[s] += $2; ln[s] += $3; b[s] += $4; bn[s] += $5
    }
  }
  END {
    rows = split(folders "total", order, " ")
    for (i = 1; i <= rows; ++i) row(order[i], l[order[i]], ln[order[i]], b[order[i]], bn[order[i]])
  }' "$dir/coverage.tsv"
