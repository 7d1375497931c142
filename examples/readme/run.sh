#!/usr/bin/env bash
# run.sh PROGRAM: runs the README's program twice in an empty directory. Both runs must hand out the
# key once: the second run opens the store of the first, which has no key left.
set -euo pipefail

program=$(realpath -- "${1:?usage: run.sh PROGRAM}")
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch"

expected='reconciling default/pod-1'
for run in first second; do
  printed=$("$program")
  if [[ $printed != "$expected" ]]; then
    printf '%s run printed:\n%s\nwanted:\n%s\n' "$run" "$printed" "$expected" >&2
    exit 1
  fi
done
