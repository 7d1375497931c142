#!/usr/bin/env bash
# test.sh PROGRAM: over three hours, a second each, 20 000 objects are resynced twice, never in a
# burst (the program ends with 1 otherwise), and half of the events wait for less than 10 ms.
set -euo pipefail

program=$(realpath -- "${1:?usage: test.sh PROGRAM}")
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch"
"$program" 20000 3 3600 | tee printed
pattern='180 minutes: ([0-9]+) resyncs'
[[ $(<printed) =~ $pattern ]]
(( BASH_REMATCH[1] > 20000 && BASH_REMATCH[1] < 60000 ))
pattern='p50 ([0-9]+)\.[0-9]+ ms'
[[ $(<printed) =~ $pattern ]]
(( BASH_REMATCH[1] < 10 ))
