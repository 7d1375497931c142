#!/usr/bin/env bash
# run.sh PROGRAM EXPECTED: runs the program in an empty directory. It must print what the file
# EXPECTED has.
set -euo pipefail

program=$(realpath -- "${1:?usage: run.sh PROGRAM EXPECTED}")
expected=$(realpath -- "${2:?usage: run.sh PROGRAM EXPECTED}")
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch"
"$program" >printed
diff -u "$expected" printed
