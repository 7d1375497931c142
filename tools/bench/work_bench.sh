#!/usr/bin/env bash
# work_bench.sh WQCTL [KEYS [JOBS]]: how long wqctl work, xargs and GNU parallel take to run
# /bin/true once for each key. The time of `wqctl work` includes the opening of its store; its keys
# are on disk before. A tool that is not installed is left out.
set -euo pipefail

wqctl=$(realpath -- "${1:?usage: work_bench.sh WQCTL [KEYS [JOBS]]}")
keys=${2:-10000}
jobs=${3:-$(nproc)}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
export WQ_STORE=$scratch/store
export HOME=$scratch # Without a home of its own, parallel asks for a citation.
seq "$keys" >"$scratch/keys"

# measure NAME COMMAND...: a line with the seconds, the commands per second, and the seconds of CPU
# time, which do not depend on what else the machine does.
measure() {
  local name=$1
  shift
  TIMEFORMAT='%R %U %S'
  { time "$@" <"$scratch/keys" >/dev/null 2>"$scratch/errors"; } 2>"$scratch/time" || {
    cat "$scratch/errors" >&2
    exit 1
  }
  awk -v name="$name" -v keys="$keys" \
    '{ printf "%-16s %8.2f s %8.0f commands/s %8.2f s CPU\n", name, $1, keys / $1, $2 + $3 }' \
    "$scratch/time"
}

# fill: the keys in a new store.
fill() {
  rm -rf "$WQ_STORE"
  "$wqctl" init >/dev/null
  "$wqctl" add -q q - <"$scratch/keys" >/dev/null
}

fill
measure 'wqctl work' "$wqctl" work -q q -j "$jobs" -- /bin/true
fill
measure 'wqctl work -u' "$wqctl" work -q q -j "$jobs" -u -- /bin/true
! command -v xargs >/dev/null || measure 'xargs' xargs -n 1 -P "$jobs" /bin/true
! command -v parallel >/dev/null || measure 'parallel' parallel -j "$jobs" /bin/true
